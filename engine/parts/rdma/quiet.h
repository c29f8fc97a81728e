// How a drain knows that nothing is under way any more. Providers do not tell.
#pragma once

#include <rte_mbuf.h>
#include <time.h>

#include <cstdint>
#include <iterator>

#include "wires/port.h"

namespace wt {

// The clock of a wait.
inline uint64_t monotonic_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// How long nothing must arrive, and how long that is waited for.
constexpr uint64_t quiet_ns = 20'000'000, longest_drain_ns = 2'000'000'000;

// Frees a burst of what a channel has received, and returns how many packets it had.
inline uint32_t free_received(const queue_ops &queue, void *channel) {
    rte_mbuf *burst[64];
    const uint16_t count = queue.rx(channel, burst, std::size(burst));
    rte_pktmbuf_free_bulk(burst, count);
    return count;
}

// Calls `take` until one that began in the quiet has taken nothing. Returns how many packets all took. A host
// may stop this thread between any two of its calls: what came meanwhile ends the quiet.
template <typename Now, typename Take>
uint32_t take_until_quiet(Now now_ns, Take take) {
    const uint64_t begin = now_ns();
    uint32_t all = 0;
    for (uint64_t now = begin, last = begin; now < begin + longest_drain_ns; now = now_ns()) {
        const uint32_t taken = take();
        all += taken;
        if (taken > 0)
            last = now_ns();
        else if (now >= last + quiet_ns)
            break;
    }
    return all;
}

}  // namespace wt
