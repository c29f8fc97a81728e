// The statements of a spec by line: enough of its grammar to say which one DPDK will not have. Needs no DPDK.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace wt {

// The first line that holds this instruction, counted from 1.
std::optional<uint32_t> first_use(const std::string &spec, const std::string &instruction);

// The sum of what the spec's tables, selectors and learners give as their sizes; where one gives none, what
// DPDK takes.
uint64_t sizes_in(const std::string &spec);

// DPDK names no line where a spec is well formed but means nothing: a field that is not there, an action of
// another signature. Tries the statements one after the other, and in an action or in `apply` the
// instructions by themselves. `accepts` is DPDK's word on a text. Returns 0 where the fault lies in no
// statement alone.
uint32_t stumbling_line(const std::string &spec, const std::function<bool(const std::string &)> &accepts);

}  // namespace wt
