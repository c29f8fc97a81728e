// What a plan's wires are by their descriptors; engine/plan reads and checks the plan without knowing one.
#pragma once

#include "plan/plan.h"

namespace wt {

// Throws refusal with the key's path: a wire that there is not, options that it does not have or that are
// missing, a side that it does not take, traits of another descriptor, ends that do not belong together.
void check_planned_wires(const plan &p);

}  // namespace wt
