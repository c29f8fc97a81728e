// What app_tx keeps where request bodies are copied from a source, and what app_rx keeps to check them.
#pragma once

#include <rte_mbuf.h>

#include <vector>

#include "copiers/copier.h"
#include "core/copy_stats.h"
#include "core/pending.h"
#include "core/source.h"
#include "core/steps.h"
#include "core/worker.h"
#include "plan/plan.h"

namespace wt {

struct application;

// The steps of app_tx with a copier, in the order of their names.
enum class copy_step : uint8_t { submit, poll, by_cpu };

// Of app_tx.
struct alignas(RTE_CACHE_LINE_SIZE) client_copying {
    copy_channel channel;
    pending_packets pending;
    source_layout layout;
    const uint8_t *source;
    copy_way way;
    uint32_t depth, batch;
    uint32_t at_least;  // bytes; smaller copies are made by the CPU
    uint64_t timeout;   // ticks
    bool verify;
    bool gave_up = false;    // the copier: it has not ended a copy for longer than the timeout
    bool releasing = false;  // wait_all: all copies of these packets have ended
    handler_steps steps;
    std::vector<copy_piece> pieces;  // of one submit
    std::vector<uint32_t> which;     // and whose they are, by their place in `pending`
    std::vector<copy_piece> left;    // to the CPU
    std::vector<copy_end> ends;      // of one poll
    std::vector<rte_mbuf *> bodies;  // zero: mbufs for the parts of the source, ready to be taken
    uint32_t bodies_count = 0;
    std::vector<rte_mbuf *> abandoned;  // the copier may write to them at any time: nobody gets them again
    copy_counters totals{};             // since the start; main adds windows to them
    uint64_t submitted = 0, ended = 0;  // copies of the copier since the start
    uint64_t measuring = 0;             // of these, they were for no packet

    client_copying(copy_channel c, uint32_t capacity, const source_layout &l)
        : channel(std::move(c)), pending(capacity), layout(l) {}
    ~client_copying() {
        if (channel.close) channel.close(channel.state);
    }
    client_copying(const client_copying &) = delete;
    client_copying &operator=(const client_copying &) = delete;
};

// Of app_rx of a server that checks bodies.
struct alignas(RTE_CACHE_LINE_SIZE) body_checking {
    source_layout layout;
    uint32_t segment_body;  // body bytes of a full segment
    uint64_t packets = 0, wrong_packets = 0, wrong_bytes = 0;
    // the first wrong packet
    struct {
        uint32_t slot, generation, offset;  // of its body's first wrong byte, in the message
        uint16_t application;
    } first{};
};

// Ends copies that run, without new ones, until none does or `patience` ticks are over. For whoever calls it
// no other thread may be in app_tx. Returns whether none runs.
bool finish_copies(client_copying &c, copy_stats &stats, uint64_t patience);

// Takes out what never ends, once and for all.
void abandon_copies(client_copying &c, copy_stats &stats);

// Checks the bodies of a burst of requests.
void check_bodies(body_checking &c, rte_mbuf *const *packets, uint32_t count);

}  // namespace wt
