// A worker: one lcore that runs its stages in a loop, and counts around them.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/host_probe.h"
#include "core/speed.h"
#include "core/stage.h"
#include "core/trace.h"

namespace wt {

// Whether workers are held: they sleep, or are awake and wait for each other.
enum class hold_state : int { running, asleep, awake };

// Signals from main to all workers. Read once a loop; written a few times a second.
struct alignas(RTE_CACHE_LINE_SIZE) run_signals {
    std::atomic<uint32_t> epoch{0};    // number of the window
    std::atomic<uint32_t> beat{0};     // raised when workers are to measure the speed of their cores
    std::atomic<bool> stop{false};     // leave the loop
    std::atomic<bool> sending{false};  // clients may make new messages
    std::atomic<hold_state> held{hold_state::running};
    uint64_t sending_since = 0;         // TSC; before `sending` was set
    std::atomic<uint32_t> probe_at{0};  // the epoch before which workers join the probe
    host_probe probe;
};

struct worker_stats {
    uint64_t loops;
    uint64_t cycles;        // TSC ticks of the window
    uint64_t timed_cycles;  // of timed loops
};

// A call of a stage in a timed loop, until it is booked.
struct timed_call {
    uint64_t end;  // TSC
    call_result result;
};

struct worker {
    uint32_t index = 0;  // position among the workers
    unsigned lcore;
    int cpu;
    std::vector<stage> stages;
    std::vector<timed_call> timed;  // one a stage: the loop's calls
    accounting level;
    uint32_t sample_every;
    uint64_t interrupted_above;  // ticks
    run_signals *signals;
    worker_trace *trace = nullptr;  // where loops are traced

    uint32_t epoch = 0, beat = 0;
    uint64_t window_start = 0;
    worker_stats stats[2] = {};
    speed_log speed[2];
    // what main reads while the worker runs
    alignas(RTE_CACHE_LINE_SIZE) std::atomic<uint32_t> epoch_seen{0};
    std::atomic<int> tid{0};          // kernel thread, 0 before it started
    std::atomic<bool> parked{false};  // out of the loop for as long as the run is held
    std::atomic<bool> done{false};
    std::atomic<uint64_t> allocations{0};
};

// The body of an lcore: loops until the stop signal. `argument` is the worker. Fits rte_eal_remote_launch.
int worker_main(void *argument);

// Ticks that the worker's accounting level adds to one stage call, measured on an empty stage against level
// `off`.
double level_cost_ticks(accounting level, uint32_t sample_every);

// Ticks that reading the clock adds to what a timed call is booked with: what a timed call of an empty stage
// reads, less what such a call takes in a loop that is not timed.
double timed_call_ticks();

}  // namespace wt
