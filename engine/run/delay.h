// Additional time of a stage, as a stage function around its own.
#pragma once

#include <rte_common.h>

#include "core/stage.h"

namespace wt {

constexpr unsigned delay_fraction_bits = 16;

// The time is a debt of the stage: what one wait took too long, and what is too short for one, counts for the
// next. So the mean is right, although the clock is coarse and reading it takes time.
struct alignas(RTE_CACHE_LINE_SIZE) delay {
    stage_function inner;
    void *role;
    int64_t stamp;         // ticks that reading the clock takes
    uint64_t ticks = 0;    // an object, in parts of a tick: 2^delay_fraction_bits are one; 0: no delay
    uint64_t counted = 0;  // parts of a tick, less than one
    int64_t debt = 0;      // ticks
};

// A stage function. Role: delay. Counts what it adds as delay_cycles, whatever the wait took.
call_result delayed(void *role, const stage_call &call);

}  // namespace wt
