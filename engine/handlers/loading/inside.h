// What the engine tells handlers of its own at open, beside what the public header has for every handler.
#pragma once

#include <windtunnel/handler.h>

#include "plan/types.h"

namespace wt {

struct inside_open : wt_open {
    const workload_plan *workload;  // that it responds to; null: there is none
};

inline const workload_plan *wt_workload(const wt_open &open) {
    return static_cast<const inside_open &>(open).workload;
}

}  // namespace wt
