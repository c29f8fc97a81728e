// How far a copier's thread is: the round trip of a small copy.
#pragma once

#include <cstdint>

#include "parts/copies/copiers/copier.h"

namespace wt {

constexpr uint32_t trip_bytes = 64;

struct copy_trip {
    uint64_t started = 0, ended = 0;  // copies of the copier
    double ticks = 0;  // the median, from the submit to the poll that finds the end; 0: not all were made
};

// Sends small copies, one after the other. A copy that has not ended at the deadline (TSC) still runs.
// Nothing else may run. `from` and `to` have trip_bytes each.
copy_trip measure_trip(const copy_channel &channel, const uint8_t *from, uint8_t *to, uint64_t deadline);

}  // namespace wt
