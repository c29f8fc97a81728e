#include "core/arrivals.h"

#include <algorithm>

namespace wt {

namespace {

// Ticks of a phase's length in which it sends.
double sending_time(const arrival_phase &p) {
    if (!(p.off > 0) || std::isinf(p.length)) return p.length;
    const double period = p.on + p.off, whole = std::floor(p.length / period);
    return whole * p.on + std::min(p.on, p.length - whole * period);
}

void enter(arrival_cursor &c, uint32_t phase) {
    c.at = phase;
    c.phase = c.phases->list[phase];
    c.sent_for = 0;
    c.sends_for = sending_time(c.phase);
}

}  // namespace

arrival_cursor arrival_cursor_at_start(const arrival_phases &phases, double first, uint64_t seed) {
    arrival_cursor c{};
    c.random = seed;
    c.phases = &phases;
    enter(c, 0);
    arrival_cross(c, c.phase.poisson ? arrival_messages(c) : first);
    return c;
}

void arrival_cross(arrival_cursor &c, double messages) {
    // Each phase takes off what it sends.
    for (;;) {
        const double left = (c.sends_for - c.sent_for) / c.phase.interval;
        if (messages < left) break;
        messages -= left;
        c.begun += c.phase.length;
        enter(c, c.at + 1 < c.phases->list.size() ? c.at + 1 : c.phases->lead);
    }
    c.sent_for += messages * c.phase.interval;
    c.next = c.begun + arrival_moment(c.phase, c.sent_for);
}

// Passes over even arrivals that are due at `now`, within the phase and up to the last one but one, `most` at
// the most; returns how many that were. They stood an interval from each other, the first where the cursor
// was.
static uint64_t leap(arrival_cursor &c, uint64_t now, uint64_t most) {
    const double elapsed = static_cast<double>(static_cast<int64_t>(now - c.start));
    if (!arrival_is_even(c) || c.next + c.phase.interval > elapsed) return 0;
    const double due = std::floor((elapsed - c.next) / c.phase.interval),
                 in_phase = std::ceil((c.sends_for - c.sent_for) / c.phase.interval) - 1;
    const double count = std::min({due, in_phase, static_cast<double>(most)});
    if (!(count >= 1)) return 0;
    c.sent_for += count * c.phase.interval;
    c.next = c.begun + c.sent_for;
    return static_cast<uint64_t>(count);
}

uint64_t arrival_pass_due(arrival_cursor &c, uint64_t now) {
    uint64_t count = 0;
    for (uint32_t steps = 0; steps < arrival_most_steps && arrival_is_due(c, now); steps++, count++) {
        count += leap(c, now, UINT64_MAX);
        arrival_advance(c);
    }
    return count;
}

uint32_t arrival_walk_due(arrival_cursor &c, uint64_t now, uint32_t most, uint64_t *intended) {
    const double first = c.next, interval = c.phase.interval;
    // signed: these convert from and to double in one instruction
    const auto evenly = static_cast<int32_t>(leap(c, now, most));
    for (int32_t i = 0; i < evenly; i++)
        intended[i] = c.start + static_cast<uint64_t>(static_cast<int64_t>(first + i * interval));
    auto count = static_cast<uint32_t>(evenly);
    for (; count < most && arrival_is_due(c, now); count++) {
        intended[count] = arrival_time(c);
        arrival_advance(c);
    }
    return count;
}

}  // namespace wt
