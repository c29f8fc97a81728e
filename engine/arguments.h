// The engine's command line. The supervisor calls it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "parts/part.h"
#include "run/turns.h"

namespace wt {

// What --ladder measures.
struct ladder_arguments {
    size_t most_bytes = size_t{256} << 20;
    unsigned rounds = 3;
    bool huge_pages = true;
};

struct arguments {
    std::string plan, plugin;
    int out_descriptor = -1, control_descriptor = -1;
    bool handlers_only = false;  // of the plan: open its handlers, run nothing
    bool handlers = false, wires = false;
    bool version = false, help = false, asks_ladder = false;
    ladder_arguments ladder;
    turn_descriptors turns;
    std::vector<std::string> plans;  // to check
    const part_command *command = nullptr;
    std::vector<std::string> words;  // that follow the name of the command
};

// What --help prints.
std::string usage();

// Throws refusal with the usage.
arguments read_arguments(int argc, char **argv);

}  // namespace wt
