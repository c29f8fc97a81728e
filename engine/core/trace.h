// A trace of sampled loops: which stage ran when, for how long, on how much. The worker writes, main takes
// them.
//
// A loop goes into the ring completely or not at all, and never waits: loops without room are counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "core/ring.h"

namespace wt {

// As it lies in the file too: src/windtunnel/runs/trace.py reads it.
struct trace_event {
    uint64_t start, end;    // TSC
    uint32_t objects : 31;  // of a loop: the sum over its stages
    uint32_t stalled : 1;
    uint16_t worker;
    uint16_t stage;  // position in the worker's stages, or trace_whole_loop
};
static_assert(sizeof(trace_event) == 24);

constexpr uint16_t trace_whole_loop = UINT16_MAX;
// Events on their way to the file: main comes a hundred times a second. 1.5 MiB.
constexpr uint32_t trace_room = 1 << 16;

struct worker_trace {
    uint16_t worker;
    uint32_t every;                 // loops
    std::vector<trace_event> loop;  // the one that is being traced: its stages and itself
    spsc_ring<trace_event> ring;
    std::atomic<uint64_t> missed{0};  // events that found no room

    worker_trace(uint16_t number, uint32_t every_nth, size_t stages)
        : worker(number),
          every(every_nth),
          loop(stages + 1),
          ring("trace of worker " + std::to_string(number), trace_room) {
        // touched here, so that no worker causes a page fault
        const std::vector<trace_event> none(1024);
        std::vector<trace_event> taken(1024);
        for (uint32_t i = 0; i < trace_room; i += 1024) {
            ring.put(none.data(), 1024);
            ring.take(taken.data(), 1024);
        }
    }
};

// Worker: hands a traced loop of `events` over.
inline void trace_hand_over(worker_trace &t, uint32_t events) {
    if (!t.ring.put_whole(t.loop.data(), events)) t.missed.fetch_add(events, std::memory_order_relaxed);
}

}  // namespace wt
