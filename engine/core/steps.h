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

struct part;

struct step_name {
    std::string name;
    bool traffic;
};

struct handler_steps {
    // what the handler finds behind wt_open::steps: `taken` in a timed call, else null
    wt_step *now = nullptr;
    std::array<wt_step, WT_MAX_STEPS> taken{};
    std::vector<step_name> names;
    // Those behind the handler's are of a part that works in the same stage: names may come twice.
    const part *added_by = nullptr;
    size_t added_from = 0;
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
