// The steps of a handler: what it books during a timed call, until the worker books the call.
//
// The handler writes to `taken`, not to the window's counters: a call that turns out to have been interrupted
// takes its steps along.
#pragma once

#include <windtunnel/handler.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace wt {

struct step_name {
    std::string name;
    bool traffic;
    bool copier = false;  // of the stage's copier; a handler's own step may have the same name
};

struct handler_steps {
    // what the handler finds behind wt_open::steps: `taken` in a timed call, else null
    wt_step *now = nullptr;
    std::array<wt_step, WT_MAX_STEPS> taken{};
    std::vector<step_name> names;
};

using step_counters = std::array<wt_step, WT_MAX_STEPS>;

// Moves what the handler booked into the window's counters, and returns how much of it went into its own
// traffic.
inline uint64_t take_steps(handler_steps &from, step_counters &into) {
    uint64_t traffic = 0;
    for (size_t i = 0; i < from.names.size(); i++) {
        wt_step &step = from.taken[i];
        into[i].cycles += step.cycles;
        into[i].packets += step.packets;
        into[i].stamps += step.stamps;
        if (from.names[i].traffic) traffic += step.cycles;
        step = {};
    }
    return traffic;
}

}  // namespace wt
