// When the frames of a capture fall due: at their own times, round after round.
//
// No clock is read here: callers and tests pass the time.
#pragma once

#include <cstdint>
#include <vector>

namespace wt {

struct pacer {
    std::vector<uint64_t> due_ns;  // since the round's start, ascending
    uint64_t round_ns;             // from the start of a round to the next; after the last frame
    double ticks_per_ns;
    uint64_t start = 0;  // ticks at which the first round begins
    uint64_t round = 0;
    uint32_t next = 0;  // of due_ns
};

// Ticks at which frame `index` of the current round falls due. Reckoned from the start each time: no error
// adds up.
inline uint64_t pacer_time(const pacer &p, uint32_t index) {
    return p.start + static_cast<uint64_t>(static_cast<double>(p.round * p.round_ns + p.due_ns[index]) *
                                           p.ticks_per_ns);
}

// How many frames, from the next one on and up to the end of the round, are due at `now`; `most` at the most.
inline uint32_t pacer_due(const pacer &p, uint64_t now, uint32_t most) {
    const uint64_t left = p.due_ns.size() - p.next;
    const uint32_t limit = left < most ? static_cast<uint32_t>(left) : most;
    uint32_t count = 0;
    // the difference, because the clock of another core may stand before the start
    while (count < limit && static_cast<int64_t>(now - pacer_time(p, p.next + count)) >= 0) count++;
    return count;
}

// The next `count` frames have entered.
inline void pacer_advance(pacer &p, uint32_t count) {
    p.next += count;
    if (p.next < p.due_ns.size()) return;
    p.next = 0;
    p.round++;
}

}  // namespace wt
