// What stages count: one list, from which the fields, their sums and the lines of a window follow.
//
// A counter is added here, counted where it happens, and given its field in src/windtunnel/engine/windows.py.
#pragma once

#include <cstdint>

#include "parts/all_parts.h"

namespace wt {

// X(name, line, telemetry), in the order in which they lie in memory.
//   line       the part of a window's line that has it under this name:
//              stage: every stage's own (StageWindow); workload: summed over a workload's client stages
//              (WorkloadWindow); none: used by name, as a part of ports[] and of the ledgers
//   telemetry  shown: in DPDK's telemetry too, with its total; hidden
#define WT_STAGE_COUNTERS(X)                                                                                \
    /* messages: app_tx */                                                                                  \
    X(offered, workload, shown)                                                                             \
    X(sent, workload, shown)                                                                                \
    X(inflight_full, workload, hidden) /* open loop: calls that found a message due and no budget */        \
    /* messages: app_rx of a client */                                                                      \
    X(responses, workload, shown)                                                                           \
    X(lost, workload, shown)                                                                                \
    X(late, workload, shown)                                                                                \
    X(duplicates, workload, shown)                                                                          \
    X(negative_latency, workload, hidden)                                                                   \
    /* at the port: nic_rx, nic_tx */                                                                       \
    X(packets, none, hidden)                                                                                \
    X(bursts, none, hidden)                                                                                 \
    /* of the port's packets, where their length is read anyway: disp_rx, disp_tx; nic_tx where emulated */ \
    /* faults change what leaves */                                                                         \
    X(rx_bytes, none, hidden)                                                                               \
    X(tx_bytes, none, hidden)                                                                               \
    /* emulated: nic_tx */                                                                                  \
    X(wire_lost, none, hidden)                                                                              \
    X(wire_duplicated, none, hidden)                                                                        \
    X(wire_full, none, hidden)                                                                              \
    /* of timed calls: core/worker.cc */                                                                    \
    X(timed_calls, stage, hidden)                                                                           \
    X(timed_objects, stage, hidden)                                                                         \
    /* those that moved something: with n objects in c cycles, sums of 1, n * n and n * c */                \
    X(timed_work_calls, stage, hidden)                                                                      \
    X(timed_objects_squared, stage, hidden)                                                                 \
    X(timed_objects_cycles, stage, hidden)                                                                  \
    X(busy_cycles, stage, hidden)                                                                           \
    X(idle_cycles, stage, hidden)                                                                           \
    X(stall_cycles, stage, hidden)                                                                          \
    X(traffic_cycles, stage, hidden) /* of a handler that makes its own traffic: in none of these */        \
    X(interrupted_calls, stage, hidden)                                                                     \
    X(interrupted_cycles, stage, hidden)                                                                    \
    /* of all calls that a variant delays: run/variants.cc */                                               \
    X(delay_cycles, stage, hidden)                                                                          \
    /* of all calls: core/worker.cc */                                                                      \
    X(stalled_for_mbufs, stage, hidden)                                                                     \
    X(stalled_for_ring, stage, hidden)                                                                      \
    X(stalled_for_port, stage, hidden)                                                                      \
    WT_STALL_COUNTERS_OF_PARTS(X) /* likewise, by stages of parts */                                        \
    /* that worked and moved no object, so that they are not empty: app_tx, app_rx, disp_rx */              \
    X(unmoved_calls, none, hidden)

// Plain fields: a stage adds to them as to any other.
struct stage_counters {
#define WT_X(name, line, telemetry) uint64_t name;
    WT_STAGE_COUNTERS(WT_X)
#undef WT_X

    stage_counters &operator+=(const stage_counters &other) {
#define WT_X(name, line, telemetry) name += other.name;
        WT_STAGE_COUNTERS(WT_X)
#undef WT_X
        return *this;
    }

    uint64_t stalled_calls() const {
        uint64_t calls = stalled_for_mbufs + stalled_for_ring + stalled_for_port;
#define WT_X(name) calls += stalled_for_##name;
        WT_STALLS_OF_PARTS(WT_X)
#undef WT_X
        return calls;
    }
};

enum class counter_line : uint8_t { none, stage, workload };
enum class counter_telemetry : uint8_t { hidden, shown };

struct stage_counter {
    const char *name;
    counter_line line;
    counter_telemetry telemetry;
    uint64_t stage_counters::*value;
};

constexpr stage_counter stage_counter_list[] = {
#define WT_X(name, line, telemetry) \
    {#name, counter_line::line, counter_telemetry::telemetry, &stage_counters::name},
    WT_STAGE_COUNTERS(WT_X)
#undef WT_X
};
static_assert(sizeof(stage_counters) ==
              sizeof(stage_counter_list) / sizeof(stage_counter) * sizeof(uint64_t));

// Adds the counters of one part of a window's line to `json`, by their names.
template <typename Json>
void add_counters(Json &json, const stage_counters &counted, counter_line line) {
    for (const stage_counter &counter : stage_counter_list)
        if (counter.line == line) json[counter.name] = counted.*counter.value;
}

}  // namespace wt
