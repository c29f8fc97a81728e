// From which size on a copier saves the worker cycles, measured before a run.
#pragma once

#include <cstdint>
#include <span>

#include "parts/copies/copiers/copier.h"

namespace wt {

struct break_even {
    uint32_t at_least;  // bytes; one more than the largest size where none saves any
    uint64_t copies;    // that the copier made for this
};

// Compares, for `sizes` in ascending order, what a copy by the CPU costs in the run's memory, `by_cpu` ticks,
// with what the caller pays for a submit and for the poll that finds the end, a batch at once. What the
// caller does in between counts for neither. Takes some milliseconds. Throws refusal where the copier does
// not end a batch within `patience` ticks, or an end is bad.
break_even measure_break_even(const copy_channel &channel, std::span<const uint8_t> source,
                              std::span<const uint32_t> sizes, std::span<const double> by_cpu, uint32_t batch,
                              uint64_t patience);

}  // namespace wt
