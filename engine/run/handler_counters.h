// What handlers count themselves: read by main at the end of each window.
#pragma once

#include <deque>
#include <nlohmann/json.hpp>
#include <vector>

#include "handlers/loading/opened.h"
#include "plan/plan.h"

namespace wt {

// The counters of one handler, opened for `place`.
struct handler_counters {
    const opened_handler *handler;
    stage_of place;
    enum side side;
    std::vector<uint64_t> before;  // at the end of the last window

    handler_counters(const opened_handler &h, const stage_of &p, enum side s)
        : handler(&h), place(p), side(s), before(h.counters().size()) {}
};

// One object a counter: what the window added, or the state at its end.
nlohmann::ordered_json counters_of_window(std::deque<handler_counters> &all);

// Likewise over the whole run, when the workers have stopped.
nlohmann::ordered_json counters_of_run(const std::deque<handler_counters> &all);

}  // namespace wt
