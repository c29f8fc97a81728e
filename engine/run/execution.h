// One run on the main thread, from the link to the last window.
#pragma once

#include "run/run.h"
#include "run/turns.h"

namespace wt {

// Starts the workers, writes a line a window, stops them. `control` is the descriptor of the supervisor's
// pipe.
run_end execute_run(run_state &f, int control, const turn_descriptors &turns);

}  // namespace wt
