// DPDK's telemetry: the last window under /windtunnel/, for dpdk-telemetry.py and other clients of
// EAL's socket.
//
// Main publishes what it has just written as a line; the thread that responds reads nothing else. Workers are
// never asked.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/clock.h"
#include "plan/plan.h"
#include "report/lines.h"

namespace wt {

// Sums over the windows so far, by "table/row/key".
using telemetry_totals = std::map<std::string, uint64_t>;

// Registers the commands. EAL must be up.
void telemetry_open();

// Shows this window from now on. Main only.
void telemetry_publish(telemetry_totals &totals, const plan &p, const tsc_clock &clock, const json &window);

}  // namespace wt
