// What the engine tells handlers of its own at open, beside what the public header has for every handler.
#pragma once

#include <windtunnel/handler.h>

#include "plan/types.h"

namespace wt {

struct inside_open : wt_open {
    const pipeline_plan *pipeline;  // the tables of its workload; null: none
};

inline const pipeline_plan *wt_pipeline(const wt_open &open) {
    return static_cast<const inside_open &>(open).pipeline;
}

}  // namespace wt
