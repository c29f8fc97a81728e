// When messages fall due in open loop: a cursor over a sequence of intended send times.
//
// Two cursors walk the same times: one gives each message its intended time, however late it is really sent
// (no coordinated omission). The other counts what has fallen due beyond what can be sent; a sender that
// keeps up does without it.
//
// The rate may change in phases and pause within them. The cursor walks the cumulated rate: the next message
// stands one message further on (constant), or as many as an exponential draw says (Poisson), and that way
// may lead through several phases. So a phase of 1000 messages has 1000, independent of the phases before it
// (Cinlar 1975: time change of a Poisson process).
#pragma once

#include <rte_branch_prediction.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/random.h"

namespace wt {

// One phase of the load, in TSC ticks. It sends for `on`, pauses for `off`, and so on; `off` is 0 where it
// never pauses.
struct arrival_phase {
    double length;    // infinity: for ever
    double interval;  // mean ticks between messages while it sends; infinity: none
    double on, off;
    bool poisson;
};

// The phases of one application: the first `lead` of them run once, then the others, again and again.
struct arrival_phases {
    std::vector<arrival_phase> list;
    uint32_t lead = 0;
};

struct arrival_cursor {
    double next;  // TSC ticks since `start`
    uint64_t start;
    uint64_t random;  // splitmix64 state
    const arrival_phases *phases;
    uint32_t at;  // phase
    arrival_phase phase;
    double begun;      // when the phase began: ticks since `start`
    double sent_for;   // how long the phase has sent by `next`: its ticks without its pauses
    double sends_for;  // and how long it sends in all
};

// The cursor before its first message, which stands `first` of a message (constant) or a draw (Poisson) after
// the start.
arrival_cursor arrival_cursor_at_start(const arrival_phases &phases, double first, uint64_t seed);

// Passes over what is due at `now`; returns how many that were. Even arrivals are not walked one by one:
// after a long pause there may be millions. Of others a call passes over no more than the constant, some
// microseconds' worth of logarithms; the next calls go on.
constexpr uint32_t arrival_most_steps = 256;
uint64_t arrival_pass_due(arrival_cursor &c, uint64_t now);

// Walks over what is due at `now`, `most` at the most, and writes the intended send times, which ascend.
// Returns how many.
uint32_t arrival_walk_due(arrival_cursor &c, uint64_t now, uint32_t most, uint64_t *intended);

// Advances by this number of messages, beyond the end of the phase.
void arrival_cross(arrival_cursor &c, double messages);

// The moment at which a phase has sent for so long: each full `on` is followed by a pause.
inline double arrival_moment(const arrival_phase &p, double sent_for) {
    return p.off > 0 ? sent_for + std::floor(sent_for / p.on) * p.off : sent_for;
}

// Messages from one to the next. Poisson: exponential by inversion, -ln(u) with u in (0, 1].
inline double arrival_messages(arrival_cursor &c) {
    if (!c.phase.poisson) return 1;
    return -std::log(static_cast<double>((random_next(&c.random) >> 11) + 1) * 0x1p-53);
}

// Whether arrivals of this phase stand at equal distances, without pauses.
inline bool arrival_is_even(const arrival_cursor &c) { return !c.phase.poisson && !(c.phase.off > 0); }

// Moves on to the next arrival.
inline void arrival_advance(arrival_cursor &c) {
    const double messages = arrival_messages(c), sent_for = c.sent_for + messages * c.phase.interval;
    if (unlikely(!(sent_for < c.sends_for))) return arrival_cross(c, messages);
    c.sent_for = sent_for;
    c.next = c.begun + arrival_moment(c.phase, sent_for);
}

inline uint64_t arrival_time(const arrival_cursor &c) { return c.start + static_cast<uint64_t>(c.next); }

inline bool arrival_is_due(const arrival_cursor &c, uint64_t now) {
    return static_cast<int64_t>(now - c.start) >= static_cast<int64_t>(c.next);
}

}  // namespace wt
