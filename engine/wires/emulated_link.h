// An emulated link in front of a wire: a line of a given rate, a queue of a given depth before it, a delay
// behind it.
//
// A packet that finds the line free is sent at once and keeps it busy for its bytes and the framing around
// them. One that does not waits in the queue; one that finds the queue full is dropped (tail drop). What has
// left the line arrives after the delay. All of this is arithmetic on the moment at which nic_tx brings a
// packet: the emulation is late by at most the time from one call of nic_tx to the next, and never early.
// Times are exact to 2^-12 of a tick.
#pragma once

#include <rte_mbuf.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace wt {

// Beside the bytes of a frame without FCS: FCS 4, preamble and delimiter 8, gap 12 (IEEE 802.3).
constexpr uint32_t link_framing_bytes = 24;

// One direction of the link. The queues of a port share it, each with a worker of its own.
struct alignas(RTE_CACHE_LINE_SIZE) emulated_line {
    explicit emulated_line(uint64_t start) : start(start) {}
    const uint64_t start;              // TSC
    std::atomic<uint64_t> free_at{0};  // 2^-12 ticks since the start
    // packets in the queue, as its workers last saw it; they may overshoot its depth by one each
    std::atomic<uint32_t> waiting{0};
};

// One queue's packets on the link: plain data, owned by the worker that runs nic_tx.
struct emulated_link {
    struct packet {
        rte_mbuf *mbuf;
        uint64_t begins, arrives;  // 2^-12 ticks since the start
    };

    emulated_line *line;
    uint64_t ticks_per_byte;                 // in 2^-32; 0: a line without a rate
    uint64_t delay;                          // 2^-12 ticks
    uint32_t depth;                          // packets that may wait
    std::vector<packet> packets;             // a ring: as many as there are mbufs, so that it is never full
    uint64_t head = 0, begun = 0, tail = 0;  // the first that has not arrived, that waits, that is free

    // `mbufs`: of all pools whose packets may be sent here.
    emulated_link(const link_plan &plan, emulated_line *line, double ns_per_tick, uint32_t mbufs);
};

// Brings a burst to the link at the time `now` (TSC). Returns how many found the queue full; they are freed.
uint32_t link_enter(emulated_link &l, rte_mbuf **burst, uint32_t count, uint64_t now);

// Takes up to `most` packets that have arrived by `now` to `out`; returns how many.
uint32_t link_leave(emulated_link &l, rte_mbuf **out, uint32_t most, uint64_t now);

// Frees what is on the link, at the end of a run.
void link_free(emulated_link &l);

// Packets on the link: in the queue, on the line, under way.
inline uint64_t link_holds(const emulated_link &l) { return l.tail - l.head; }

}  // namespace wt
