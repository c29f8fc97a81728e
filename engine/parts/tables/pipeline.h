// The pipeline of match-action tables as the plan has it.
#pragma once

#include <string_view>

#include "plan/types.h"

namespace wt {

// Reads a pipeline that has no plan around it, as read_plan() reads a plan (plan/plan.h). Throws refusal.
pipeline_plan read_pipeline(std::string_view json);

}  // namespace wt
