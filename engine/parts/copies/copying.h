// What the part keeps of an application where a copier makes the copies of its packets' bodies: in app_tx of
// a client, whose requests come from a source, or in app_rx of a server, whose handler names copies of its
// responses. And what either side keeps to check the bodies that arrive.
#pragma once

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>
#include <windtunnel/handler.h>

#include <memory>
#include <optional>
#include <vector>

#include "core/eal_memory.h"
#include "core/line_vector.h"
#include "core/message.h"
#include "core/random_bytes.h"
#include "core/stage.h"
#include "core/steps.h"
#include "host/cpu_time.h"
#include "parts/copies/copiers/copier.h"
#include "parts/copies/copy_stats.h"
#include "parts/copies/pending.h"
#include "parts/copies/source.h"
#include "plan/plan.h"
#include "stages/application.h"

namespace wt {

// Hands on what is copied, `most` objects at the most; returns how many.
using release_function = uint32_t (*)(application &a, uint32_t most);
uint32_t release_packets(application &a, uint32_t most);

// The steps of a stage with a copier, in the order of their names; behind those of its handler.
enum class copy_step : uint8_t { submit, poll, by_cpu, count };

struct alignas(RTE_CACHE_LINE_SIZE) body_copying {
    copy_channel channel;
    pending_packets pending;
    copy_way way;
    uint32_t burst;  // most entries of one call
    uint32_t depth, batch;
    uint32_t at_least;  // bytes; smaller copies are made by the CPU
    uint64_t timeout;   // ticks
    bool verify;
    release_function release = release_packets;
    bool gave_up = false;    // the copier: it has not ended a copy for longer than the timeout
    bool releasing = false;  // wait_all: all copies of these packets have ended
    handler_steps own_steps;
    handler_steps *steps = &own_steps;  // or the handler's
    std::vector<copy_piece> pieces;     // of one submit
    std::vector<uint32_t> which;        // and whose they are, by their place in `pending`
    std::vector<copy_piece> left;       // to the CPU
    std::vector<copy_end> ends;         // of one poll
    std::vector<rte_mbuf *> abandoned;  // the copier may write to them at any time: nobody gets them again
    copy_counters totals{};             // since the start; main adds windows to them
    uint64_t submitted = 0, ended = 0;  // copies of the copier since the start
    uint64_t measuring = 0;             // of these, they were for no packet

    body_copying(copy_channel c, uint32_t capacity) : channel(std::move(c)), pending(capacity) {}
    ~body_copying() {
        if (channel.close) channel.close(channel.state);
    }
    body_copying(const body_copying &) = delete;
    body_copying &operator=(const body_copying &) = delete;
};

// Where a client's requests come from.
struct request_source {
    source_layout layout;
    const uint8_t *bytes;
    std::vector<rte_mbuf *> bodies;  // zero: mbufs for its parts, ready to be taken
    uint32_t bodies_count = 0;
};

// What became of bodies that were checked.
struct checked_bodies {
    uint64_t packets = 0, wrong_packets = 0, wrong_bytes = 0;
    // the first wrong packet
    struct {
        uint32_t slot, generation, offset;  // of its body's first wrong byte, in the message
        uint16_t application;
    } first{};
};

// Of app_rx of a server that checks requests.
struct alignas(RTE_CACHE_LINE_SIZE) request_checking {
    source_layout layout;
    uint32_t segment_body;  // body bytes of a full segment
    checked_bodies found;
};

// Of a client that checks responses. app_tx writes what a request asks for before it sends it; app_rx reads
// it while the request is in flight.
struct alignas(RTE_CACHE_LINE_SIZE) response_checking {
    std::vector<uint64_t> requests;  // by slot: the first 8 bytes of the body
    std::vector<wt_part> parts;
    std::vector<message_header> names;  // whose they are
    checked_bodies found;
};

struct thread_account {
    sched_times sched;
    uint64_t steal_ns = 0;  // of its CPU
};

// The thread of a software copier, beside the worker that has its copies made by it.
struct copier_thread {
    body_copying *of;
    uint32_t worker;
    eal_memory trip;  // where copies go that only measure the way, and behind it where they come from
    thread_account account = {};  // at the last window
};

// What a copy by rte_memcpy would cost in the place of a copier.
struct cpu_copies {
    uint64_t from_bytes;          // the area that was copied from, round and round
    uint64_t to_places;           // that were copied to in turn, as the run takes them
    std::vector<uint32_t> sizes;  // ascending, up to the largest copy of a packet
    std::vector<double> ticks;    // of a copy of each
};

// What the applications of a workload have in common. Nobody writes to the source.
struct workload_bodies {
    eal_memory source;
    std::optional<cpu_copies> by_cpu;  // only where a copier ends copies later
};

// Of an application whose workload has copies.
struct copied_bodies : bodies {
    std::shared_ptr<workload_bodies> shared;
    std::unique_ptr<body_copying> copying;  // null: no copier
    std::unique_ptr<copier_thread> thread;  // null: it has none
    // client; null: its requests come from no source, and responses are not checked
    std::unique_ptr<request_source> source;
    std::unique_ptr<response_checking> checking_responses;
    // server
    line_vector<wt_copies> named;                         // by the handler, where a copier makes the copies
    std::unique_ptr<request_checking> checking_requests;  // null where they are not checked
};

// Null: its workload has no copies. Not for the way of packets.
inline copied_bodies *find_bodies(const application &a) {
    return dynamic_cast<copied_bodies *>(a.bodies.get());
}

inline copied_bodies &bodies_of(const application &a) { return static_cast<copied_bodies &>(*a.bodies); }
inline body_copying &copying_of(const application &a) { return *bodies_of(a).copying; }
inline request_source &source_of(const application &a) { return *bodies_of(a).source; }

inline copy_stats &copies_of(const stage_stats &stats) { return static_cast<copy_stats &>(*stats.of_part); }
inline copy_stats &copies_of(const stage_call &call) { return copies_of(*call.stats); }

// Puts off a copy to a packet that is being made: `m`, or null where more copies of this packet follow.
inline void add_copy(body_copying &c, rte_mbuf *m, uint8_t *to, const uint8_t *from, uint32_t bytes,
                     uint16_t link) {
    // a copy that does not happen shows in every byte
    for (uint32_t i = 0; unlikely(c.verify) && i < bytes; i++) to[i] = static_cast<uint8_t>(~from[i]);
    pending_push(c.pending, m, {from, to, 0, bytes, link, false});
}

// A packet that needs no copy leaves in its turn.
inline void add_ready(body_copying &c, rte_mbuf *m, uint16_t link) {
    pending_push(c.pending, m, {nullptr, nullptr, 0, 0, link, false});
}

// Whether a call may make packets: no further ahead than keeps the copier busy.
inline bool wants_packets(const body_copying &c) {
    const pending_packets &p = c.pending;
    if (c.way == copy_way::wait_all) return p.count() == 0;
    return p.tail - p.started < c.batch && p.room() >= c.burst;
}

// A call of a stage with a copier, between its two halves.
struct copying_call {
    uint64_t now;
    uint32_t started, ended;  // cursors at its begin
    uint32_t moved;           // packets that have left
};

// The first half: polls, gives a copier up that takes too long, hands on packets whose copies have ended,
// `most` of them at the most.
copying_call begin_copying(application &a, uint32_t most, const stage_call &call);

// The second half, after new packets have been made: starts copies, and hands on what has ended meanwhile.
// `made`: there are new ones; `lacks_mbufs`: there would be, with mbufs.
call_result end_copying(application &a, copying_call c, uint32_t most, bool made, bool lacks_mbufs,
                        const stage_call &call);

// Ends copies that run, without new ones, until none does or `patience` ticks are over. For whoever calls it
// no other thread may be in the stage. Returns whether none runs.
bool finish_copies(body_copying &c, copy_stats &stats, uint64_t patience);

// Takes out what never ends, once and for all.
void abandon_copies(body_copying &c, copy_stats &stats);

// Check the bodies of a burst: of requests, and of responses to messages that are in flight.
void check_requests(const application &a, rte_mbuf *const *packets, uint32_t count);
void check_responses(const application &a, rte_mbuf *const *packets, uint32_t count);

// Keeps what the requests of a burst ask for, which app_tx has just made.
void remember_requests(const application &a, uint32_t count);

// The stages, in the place of the spine's (stages/stages.h).
call_result app_tx_copying(void *role, const stage_call &call);      // client, with copies from a source
call_result app_tx_remembering(void *role, const stage_call &call);  // client that checks responses
call_result app_rx_checking(void *role, const stage_call &call);     // likewise
call_result app_rx_copying(void *role, const stage_call &call);  // server, with copies that its handler names

}  // namespace wt
