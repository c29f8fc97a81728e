// How a core switches tenants: the loops of the thread that shares it. Each runs until `stop`, wakes by
// absolute times, never in bursts after it was late, and leaves no tenant raised.
#pragma once

#include <cstdint>

#include "slicers/roster.h"

namespace wt {

constexpr uint64_t idle_ns = 50'000'000;  // between two wakes with fewer than two members: there is no choice

// Wakes every slice and does nothing: each wake makes the kernel choose again among the tenants, by their
// weights.
void kick(shared_core &core);

// The same in two threads: the one on the shared core sleeps until the other, on another core, wakes it. A
// timer's interrupt and its setting are expensive in a guest; then the other core pays for them.
void be_kicked(shared_core &core);
void kick_from_afar(shared_core &core);

// One tenant at a time is SCHED_FIFO, the others wait; turns are as long as their weights say. A tenant that
// sleeps gets no turn. The thread may run on another core.
void rotate(shared_core &core);

// By member: whether it gets turns.
using turn_takers = std::vector<bool>;

// What a round is made of: a turn of slice_ns for each member, of which switching takes cost_ns.
struct turn_length {
    uint64_t slice_ns, cost_ns;
};

// Nanoseconds that a member has of its turn so that a round of all that get turns takes a slice for each and
// shares are as weights: no rounding. The cost is beside it: it is the same in a long turn and a short one.
double own_ns(const roster &members, const turn_takers &takers, size_t which, turn_length length);

// Turns in a round: what would be shorter than the least turn is saved up until it is not.
class turn_keeper {
  public:
    explicit turn_keeper(uint64_t least_ns) : least_ns_(static_cast<double>(least_ns)) {}
    void begin(const roster &members);
    // How long the next turn is, and whose it is. 0 ns where fewer than two get turns: there is no choice.
    uint64_t next(const roster &members, const turn_takers &takers, turn_length length, size_t &whose);

  private:
    double least_ns_;
    size_t at_ = 0;
    std::vector<double> saved_;
};

}  // namespace wt
