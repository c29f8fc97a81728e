// What app_tx and app_rx of a client keep between two calls.
#pragma once

#include <rte_mbuf.h>
#include <windtunnel/handler.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "core/arrivals.h"
#include "core/inflight.h"
#include "core/line_vector.h"
#include "core/sizes.h"
#include "core/worker.h"
#include "stages/application.h"

namespace wt {

// Of app_tx.
struct alignas(RTE_CACHE_LINE_SIZE) client_sending {
    const run_signals *signals;
    uint32_t at_once;       // messages per call, at most
    uint32_t withheld = 0;  // slots of the in-flight table that a variant leaves unused
    bool open_loop;
    uint64_t tick_mult;                // ns = ticks * tick_mult >> 32
    arrival_phases phases;             // open loop
    arrival_cursor next, due;          // at the next message to send, and `unsent` messages behind it
    uint64_t unsent = 0;               // messages that count as offered and wait
    bool started = false;              // the cursors' start is set
    std::optional<size_cursor> sizes;  // if they vary
    line_vector<segmentation> shapes;  // if sizes vary: of the messages of this call
    line_vector<uint8_t> pattern;      // a full segment: room for a message header, and the body
    line_vector<uint32_t> slots;       // in-flight slots taken in this call
    line_vector<uint64_t> names;       // of their messages
    line_vector<uint64_t> intended;    // their intended send times
    line_vector<wt_segment> segments;  // views for the handler's hook `request`
    line_vector<wt_message> views;
};

// Packets that the outbox may take at once where sizes vary: a batch, and at least one of the largest
// messages.
inline uint32_t packets_at_once(const application &a) { return std::max(a.batch_tx, a.request.segments); }

// Of app_rx.
struct alignas(RTE_CACHE_LINE_SIZE) client_receiving {
    uint64_t timeout;    // ticks
    uint64_t tick_mult;  // ns = ticks * tick_mult >> 32
    uint32_t calls_to_expiry = 0;
    bool received = true;  // responses have come since the last look for expired slots
    uint32_t next_link = 0;
    std::atomic<uint64_t> responses{0};  // since the start, for `messages = N`
    line_vector<rte_mbuf *> packets;
    line_vector<uint32_t> retired;  // slots of this burst
    std::vector<uint64_t> raw;      // test mode: latencies in ns
    uint64_t raw_limit = 0;
};

}  // namespace wt
