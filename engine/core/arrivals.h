// When messages fall due in open loop: a cursor over a sequence of intended send times.
//
// Two cursors from one seed walk the same times: one counts what has fallen due, the other gives each message its
// intended time, however late it is really sent (no coordinated omission).
#pragma once

#include <cmath>
#include <cstdint>

namespace wt {

struct arrival_cursor {
    double next;      // TSC ticks since `start`
    double interval;  // mean ticks between messages
    uint64_t start;
    uint64_t random;  // splitmix64 state
    bool poisson;
};

inline uint64_t splitmix64(uint64_t &state) {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

// Moves on to the next arrival. Poisson: exponential gaps by inversion, -ln(u) with u in (0, 1].
inline void arrival_advance(arrival_cursor &c) {
    if (!c.poisson) {
        c.next += c.interval;
        return;
    }
    const double u = static_cast<double>((splitmix64(c.random) >> 11) + 1) * 0x1p-53;
    c.next += -std::log(u) * c.interval;
}

inline uint64_t arrival_time(const arrival_cursor &c) { return c.start + static_cast<uint64_t>(c.next); }

inline bool arrival_is_due(const arrival_cursor &c, uint64_t now) {
    return static_cast<int64_t>(now - c.start) >= static_cast<int64_t>(c.next);
}

}  // namespace wt
