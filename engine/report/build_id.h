// Which build of the engine runs: two builds of one version are told apart by it.
#pragma once

#include <string>

namespace wt {

// The linker's build id of the running executable, in hex; empty where it was linked without one.
std::string build_id();

}  // namespace wt
