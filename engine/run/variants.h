// Variants: what one run changes between its measured windows.
//
// Buffers are opened for the largest value of any variant. Main makes a change while every worker is parked
// (turns::hold): it writes plain fields of the roles, and the end of the hold shows them to the workers.
#pragma once

#include <rte_common.h>

#include "core/stage.h"
#include "plan/plan.h"

namespace wt {

struct run_state;

constexpr unsigned delay_fraction_bits = 16;

// Additional time of a stage, around its function. It stands only where some variant delays the stage.
//
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

// Puts a delay around the stage if any variant has one for it.
void open_delay(run_state &f, stage &s);

// The largest batches of an endpoint, and the largest in-flight budget of one of its applications, of all
// variants: what buffers are opened for.
batch_plan largest_batch(const plan &p, const endpoint_plan &e);
uint32_t largest_inflight(const plan &p, const endpoint_plan &e, uint32_t application);

// The variant of the nth measured window.
uint32_t variant_of_window(const plan &p, uint64_t n);

// Changes the run to a variant of its plan. No worker may be in its loop.
void apply_variant(run_state &f, uint32_t variant);

}  // namespace wt
