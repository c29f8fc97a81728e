// A DPDK SWX `.spec`, and the C code that DPDK makes of it. Needs no EAL.
#pragma once

#include <string>

namespace wt {

// The file's text. Throws refusal where it cannot be read or is no text.
std::string read_spec(const std::string &file);

// The pipeline as C. Throws refusal that begins with file and line: those of DPDK, and where DPDK names none,
// as for an instruction whose operands do not fit, the line that it stumbles over when each is tried by
// itself.
std::string generate_code(const std::string &file, const std::string &text);

}  // namespace wt
