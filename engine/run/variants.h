// Variants: what one run changes between its measured windows.
//
// Buffers are opened for the largest value of any variant. Main makes a change while every worker is parked
// (turns::hold): it writes plain fields of the roles, and the end of the hold shows them to the workers.
#pragma once

#include "run/run.h"

namespace wt {

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
