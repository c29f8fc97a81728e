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

}  // namespace wt
