// A stage: a function over a burst, and what is counted around it.
//
// Counting happens in one place (core/worker.cc), around the call. Each window has its own stage_stats: the
// worker switches to the other one when the epoch changes and says so, then the main thread reads and clears
// the first.
#pragma once

#include <rte_common.h>

#include <cstdint>
#include <memory>

#include "core/clock.h"
#include "core/counters.h"
#include "core/drop.h"
#include "core/histogram.h"
#include "core/steps.h"
#include "core/terms.h"
#include "parts/all_parts.h"

namespace wt {

struct latencies {
    latency_histogram intended;  // ns from the intended send time
    latency_histogram sent;      // ns from the real one
};

// What a stage of a part counts beside that, as the part knows it. Cleared by main, between two windows.
struct stats_of_part {
    stats_of_part() = default;
    virtual ~stats_of_part() = default;
    stats_of_part(const stats_of_part &) = delete;
    stats_of_part &operator=(const stats_of_part &) = delete;
    virtual void clear() = 0;
};

// What one stage did in one window. Written by its worker alone.
struct alignas(RTE_CACHE_LINE_SIZE) stage_stats : stage_counters {
    uint64_t drops[drop_reasons];        // packets
    std::unique_ptr<latencies> latency;  // app_rx of a client
    std::unique_ptr<latency_histogram>
        pacing;  // app_tx in open loop: ns from the intended to the real send time
    std::unique_ptr<stats_of_part> of_part;              // where the stage is a part's that counts something
    std::unique_ptr<batch_histogram> completion, stall;  // at `histograms`
    std::unique_ptr<step_counters>
        steps;                      // where the stage calls a handler that names some, and cycles are taken
    uint64_t burst[max_batch + 1];  // calls by their objects: calls, empty calls and objects follow from it

    void clear();
};

// What a stage gets with a call.
struct stage_call {
    stage_stats *stats;
    uint64_t timed_now;  // TSC at the start of the call where the worker took it, else 0
};

// The time for this burst: the worker's own stamp where there is one (stamps are not free: 35-39 ticks each).
inline uint64_t stage_now(const stage_call &call) { return call.timed_now ? call.timed_now : now(); }

// Why a call that had work moved nothing. A hand-over between two stages of a worker is full because of what
// lies behind it: a ring or the port.
enum stalled_for : uint8_t {
    not_stalled,
    for_mbufs,
    for_ring,
    for_port,
#define WT_X(name) for_##name,
    WT_STALLS_OF_PARTS(WT_X)
#undef WT_X
};

// What a call did. All cycles of a stalled call are stall. `worked`: the call moved no object, but it was
// useful: it made packets that do not leave yet, or they came nearer to that.
struct call_result {
    uint32_t objects;
    stalled_for stalled = not_stalled;
    bool worked = false;
};

using stage_function = call_result (*)(void *role, const stage_call &call);

inline void count_drop(const stage_call &call, drop why, uint64_t packets = 1) {
    call.stats->drops[static_cast<uint32_t>(why)] += packets;
}

// The result of a call that took nothing and went on with what it had: that has been counted.
inline call_result went_on(const stage_call &call) {
    call.stats->unmoved_calls++;
    return {.objects = 0, .worked = true};
}

// One stage of one application or dispatcher, as its worker runs it.
struct stage {
    stage_function run;
    void *role;
    stage_stats *current;  // the window that is being written: &stats[epoch & 1]
    std::unique_ptr<stage_stats[]> stats;
    uint64_t batch_stall = 0;        // ticks for which the next batch was stalled, at `histograms`
    handler_steps *steps = nullptr;  // of its handler or a part, where stats have counters for them
    // Ends what runs beside the worker, before the worker is held; null: nothing does. The role is
    // `own_role`.
    void (*before_hold)(void *role, stage_stats &stats) = nullptr;
    void *own_role = nullptr;  // also where a delay stands before the stage
    // where it stands
    stage_of place;
    uint32_t worker;
};

}  // namespace wt
