// What handlers count themselves: read by main at the end of each window.
#pragma once

#include <deque>
#include <nlohmann/json.hpp>
#include <vector>

#include "handlers/opened.h"
#include "plan/plan.h"

namespace wt {

// The figures of one handler, opened for `place`.
struct handler_figures {
    const opened_handler *handler;
    stage_of place;
    enum side side;
    std::vector<uint64_t> before;  // at the end of the last window

    handler_figures(const opened_handler &h, const stage_of &p, enum side s)
        : handler(&h), place(p), side(s), before(h.figures().size()) {}
};

// One object a figure: what the window added, or the state at its end.
nlohmann::ordered_json figures_of_window(std::deque<handler_figures> &all);

// Likewise over the whole flight, when the workers have stopped.
nlohmann::ordered_json figures_of_flight(const std::deque<handler_figures> &all);

}  // namespace wt
