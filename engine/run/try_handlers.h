// Opens a plan's handlers as its run would, and starts nothing.
#pragma once

#include "run/run.h"

namespace wt {

// Opens every handler in its turn; the pools must be open, so that the memory is that of the run. Writes a
// line for each handler of a server's applications: how long its response to one request is. Throws
// handler_refusal.
void try_handlers(run_state &f);

}  // namespace wt
