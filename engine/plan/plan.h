// The plan as the engine holds it. Its structs come from src/windtunnel/engine/plan.py, which says what each
// key means.
#pragma once

#include <iterator>
#include <string_view>

#include "plan/types.h"

namespace wt {

constexpr uint32_t stage_kinds = std::size(stage_names);

// Reads a plan strictly: unknown, missing or impossible keys are refused with their path ("endpoints[0].mtu:
// 20 is below 68"). Checks what keys mean for one another. Throws refusal, never anything else.
plan read_plan(std::string_view json);

}  // namespace wt
