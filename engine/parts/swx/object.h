// The shared object of a spec: compiled once, then found in the user's cache. Needs no EAL.
#pragma once

#include <string>

namespace wt {

// Whether this engine was built where DPDK's internal headers were to be had; without them no spec can be
// compiled.
bool can_compile_specs();

// The path of the object, ready for rte_swx_pipeline_build_from_lib. Compiled again if `afresh`, or if nobody
// did with this spec, DPDK, compiler and engine. Two engines may do so at once: each moves a whole file to
// the same place. Throws refusal: FILE:LINE of the spec, the compiler's own words, or what is missing.
std::string spec_object(const std::string &spec_file, const std::string &compiler, bool afresh = false);

}  // namespace wt
