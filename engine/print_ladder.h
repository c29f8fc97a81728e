// `windtunnel-engine --ladder`: measures the ladder and prints it as JSON lines. No EAL, no privileges.
#pragma once

#include <cstdio>

#include "arguments.h"

namespace wt {

// One line that says how it is measured, one a size and round as it is measured, one at the end. Throws
// refusal where the memory cannot be had.
void print_ladder(std::FILE *out, const ladder_arguments &asked);

}  // namespace wt
