// Waiting for what a provider does while it is polled.
#pragma once

#include <time.h>

#include <cstdint>

namespace wt {

inline uint64_t monotonic_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// Calls `done` until it says so, for so long and at least so many times: a host may stop this thread. Returns
// whether it has said so.
template <typename Done>
bool with_patience(uint64_t ns, Done done) {
    constexpr uint32_t least_calls = 1'000;
    const uint64_t end = monotonic_ns() + ns;
    for (uint32_t calls = 0; calls < least_calls || monotonic_ns() < end; calls++)
        if (done()) return true;
    return false;
}

}  // namespace wt
