// The texts that a spec's object is compiled with, kept in the engine (embed.py): ours, and two headers of
// DPDK that no package installs.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

namespace wt {

struct embedded_file {
    const char *name;       // as the compiler is to find it
    std::string_view text;  // empty: was not there when the engine was built
};

extern const embedded_file embedded_files[];
extern const size_t embedded_count;

}  // namespace wt
