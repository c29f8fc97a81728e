// The engine's command line: it is called by the supervisor, and by hand only to look at it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace wt {

// What --ladder measures.
struct ladder_arguments {
    size_t most_bytes = size_t{256} << 20;
    unsigned rounds = 3;
    bool huge_pages = true;
};

// Where the turn comes from and goes to, for a run that takes turns with another one; -1: it has all turns.
struct turn_descriptors {
    int in = -1, out = -1;
};

struct arguments {
    std::string plan, plugin, spec, compiler = "gcc";
    int out_descriptor = -1, control_descriptor = -1;
    bool handlers = false, wires = false, version = false, asks_ladder = false;
    ladder_arguments ladder;
    turn_descriptors turns;
    std::string pipeline;            // whose tables' memory is asked for
    std::vector<std::string> plans;  // that are checked
};

// Throws refusal with the usage.
arguments read_arguments(int argc, char **argv);

}  // namespace wt
