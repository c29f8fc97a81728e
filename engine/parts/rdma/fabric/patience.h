// Waiting for what a provider does while it is polled.
#pragma once

#include "parts/rdma/quiet.h"

namespace wt {

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
