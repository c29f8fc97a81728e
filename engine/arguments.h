// The engine's command line: it is called by the supervisor, and by hand only to look at it.
#pragma once

#include <string>

namespace wt {

struct arguments {
    std::string plan, plugin;
    int out_descriptor = -1, control_descriptor = -1;
    bool handlers = false, version = false;
};

// Throws refusal with the usage.
arguments read_arguments(int argc, char **argv);

}  // namespace wt
