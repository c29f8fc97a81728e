// Hooks of the part `streams` that open connections (parts/part.h). Both throw refusal.
#pragma once

#include "run/run.h"

namespace wt {

// Whether the workload is a stream: then the application has its connection.
bool open_stream(run_state &f, application &a, const endpoint &e, const workload_plan &w);
// Gives the connections of an endpoint to their dispatchers, which must be on the same workers.
void link_streams(run_state &f, endpoint &e, uint32_t endpoint_index);

}  // namespace wt
