// A seed for each user of random numbers, independent of all others: also of those of a run whose seed is
// one more.
#pragma once

#include "core/random.h"

namespace wt {

enum class chance : uint32_t {
    arrivals,
    request_sizes,
    response_sizes,
    faults,
    handlers,
    sources,  // of bodies
    engines,  // that work for an application beside its worker
    carriers  // of a workload in the place of messages
};

inline uint64_t seed_of(uint64_t run, chance what, uint32_t index) {
    return mix64(mix64(run) + (uint64_t{static_cast<uint32_t>(what)} << 32 | index));
}

}  // namespace wt
