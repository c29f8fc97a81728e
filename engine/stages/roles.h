// The worker-side roles: the application behind app_tx and app_rx, the dispatcher behind disp_* and nic_*.
//
// Everything is allocated before the workers start. What two stages of a role share is listed in one struct each,
// so that a stage finds its state on lines that no other worker writes.
#pragma once

#include <rte_mempool.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/arrivals.h"
#include "core/assembler.h"
#include "core/frame_write.h"
#include "core/greeter.h"
#include "core/handover.h"
#include "core/inflight.h"
#include "core/mbufs.h"
#include "core/pacer.h"
#include "core/plain_frame.h"
#include "core/ring.h"
#include "core/sizes.h"
#include "core/stage.h"
#include "core/worker.h"
#include "ports/emulated_link.h"
#include "ports/faults.h"
#include "ports/recorder.h"
#include "windtunnel/handler.h"

namespace wt {

constexpr uint32_t message_offset = frame_header_bytes;                       // of the message header in an mbuf
constexpr uint32_t body_offset = frame_header_bytes + message_header_bytes;   // of the body

using packet_ring = spsc_ring<rte_mbuf *>;

// The two rings between an application and one of its dispatchers.
struct link {
    std::unique_ptr<packet_ring> to_dispatcher;
    std::unique_ptr<packet_ring> to_application;
};

// Packets of finished messages that wait for room in the ring of one link.
struct outbox {
    std::vector<rte_mbuf *> packets;
    uint32_t head = 0, count = 0;
    link *towards = nullptr;
};

struct client_sending;
struct client_receiving;
struct server_answering;

struct application {
    uint16_t index;     // in its endpoint
    uint8_t workload;
    rte_mempool *pool;
    uint32_t batch_tx, batch_rx;
    segmentation request, answer;         // of the largest
    std::vector<link *> links;
    uint32_t next_link = 0;
    outbox out;  // of app_tx on a client, of app_rx on a server
    const wt_handler *handler = nullptr;
    void *handler_state = nullptr;
    handler_steps *steps = nullptr;  // of the handler on a server; null where it names none

    // client
    std::unique_ptr<inflight_table> inflight;
    std::unique_ptr<client_sending> sending;
    std::unique_ptr<client_receiving> receiving;
    // server
    std::unique_ptr<server_answering> answering;

    application();
    ~application();
};

// Ticks to ns in fixed point.
inline uint64_t ticks_to_ns(uint64_t ticks, uint64_t mult) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(ticks) * mult) >> 32);
}

// app_tx's own state.
struct alignas(RTE_CACHE_LINE_SIZE) client_sending {
    const flight_signals *signals;
    uint32_t at_once;                    // messages of a call, at most
    bool open_loop;
    uint64_t tick_mult;                  // ns = ticks * tick_mult >> 32
    arrival_phases phases;               // open loop
    arrival_cursor due, next;            // what has fallen due; what is sent next
    bool started = false;                // the cursors' start has been set
    std::optional<size_cursor> sizes;    // where they vary
    std::vector<segmentation> shapes;    // then, of the messages of this call
    std::vector<uint8_t> pattern;        // a full segment: room for a message header, and the body
    std::vector<uint32_t> slots;         // taken for this call
    std::vector<uint64_t> names;         // of their messages
    std::vector<uint64_t> intended;
    std::vector<wt_segment> segments;    // views for the handler's request hook
    std::vector<wt_message> views;
};

// app_rx's own state on a client.
struct alignas(RTE_CACHE_LINE_SIZE) client_receiving {
    uint64_t timeout;                    // ticks
    uint64_t tick_mult;                  // ns = ticks * tick_mult >> 32
    uint32_t calls_to_expiry = 0;
    bool heard = true;                   // answers have come since slots were looked at
    uint32_t next_link = 0;
    std::atomic<uint64_t> answered{0};   // since the start, for `messages = N`
    std::vector<rte_mbuf *> packets;
    std::vector<uint32_t> retired;       // slots of this burst
    std::vector<uint64_t> raw;           // test mode: latencies in ns
    uint64_t raw_limit = 0;
};

// A request that is whole and waits for its answer's mbufs.
struct ready_request {
    uint32_t first;     // in server_answering::requests
    uint32_t segments;
    message_header header;
    segmentation answer;
};

// app_rx's own state on a server.
struct alignas(RTE_CACHE_LINE_SIZE) server_answering {
    bool in_request;                      // the answer goes into the request's mbufs
    bool alone;                           // and both are one segment: the short way
    bool requests_vary;                   // in size
    uint64_t extra_ticks;
    std::optional<size_cursor> sizes;     // of answers, where they vary
    std::unique_ptr<assembler> parts;     // null where requests have one segment
    std::vector<rte_mbuf *> packets;      // as dequeued
    std::vector<rte_mbuf *> requests;     // packets of ready requests
    std::vector<ready_request> ready;
    uint32_t ready_head = 0;
    std::vector<rte_mbuf *> fresh;        // mbufs for answers
    std::vector<wt_segment> request_views, answer_views;
    std::vector<wt_exchange> exchanges;
    std::vector<wt_exchange> exchanges_alone;  // the short way: as each is before a handler has had it
};

// What the client knows of its peer, and how it asks for it (ARP, in the path of dispatcher 0).
struct peer_resolver {
    std::atomic<bool> ask{false};
    std::atomic<uint64_t> answer{0};      // the MAC in its low 48 bits, and bit 63 once it is known
};

// nic_rx's own state where it plays a capture at the capture's times.
struct paced_frames {
    const flight_signals *signals;
    pacer times;
    const uint8_t *bytes;
    std::vector<std::pair<uint64_t, uint32_t>> frames;  // where in `bytes`, and how many
    uint64_t tick_mult;                                 // ns = ticks * tick_mult >> 32
    latency_histogram late;                             // ns from a frame's own time to its entry
};

struct dispatcher {
    enum side side;
    uint16_t index;     // in its endpoint
    uint16_t port, queue;
    uint8_t workload;
    uint32_t batch_rx, batch_tx, post_rx, post_tx;  // disp_rx, disp_tx, nic_rx, nic_tx
    local_address us;
    plain_match plain;                    // of `us`
    message_match only_link = no_message_matches;  // where one link takes all messages: what they look like
    uint32_t peer_ip = 0;
    udp_checksum checksum;                // of what it sends
    rte_mempool *pool;
    // client: of its one flow, for full segments and for all else. On lines of their own: disp_tx writes to them.
    alignas(RTE_CACHE_LINE_SIZE) std::array<frame_template, 2> headers;
    alignas(RTE_CACHE_LINE_SIZE) peer_resolver *resolver = nullptr;  // client
    struct greeter *greeter = nullptr;    // where the other side is another host's
    uint32_t greeted = 0;                 // client: the round in which a word was said last
    std::vector<application *> applications;
    std::vector<link *> links;            // parallel to applications
    std::vector<uint16_t> link_of;        // client: application index -> position in links, no_link where none
    uint32_t next_link = 0;
    bool workload_has_messages;

    const wt_handler *packet_handler = nullptr;
    void *packet_state = nullptr;
    handler_steps *steps = nullptr;               // of the packet handler; null where it names none
    std::vector<wt_packet> views;
    std::vector<rte_mbuf *> passed;               // scratch of disp_rx
    std::vector<std::vector<rte_mbuf *>> sorted;  // scratch of disp_rx: a burst for each link

    std::unique_ptr<handover> received;           // nic_rx -> disp_rx
    std::unique_ptr<handover> replies;            // disp_rx -> nic_tx; null where it shares `sending`
    std::unique_ptr<handover> sending;            // disp_tx -> nic_tx
    handover *forwards;                           // where disp_rx puts what goes out again

    std::unique_ptr<paced_frames> paced;          // nic_rx; null: frames come from the port
    bool is_emulated = false;                     // nic_tx: there are faults, or a link
    std::unique_ptr<faults> emulated;             // null: none
    std::unique_ptr<emulated_link> link_ahead;    // null: none
    std::vector<rte_mbuf *> let_through;          // by the faults, on the way to the link
    std::vector<rte_mbuf *> wire_burst;           // what the wire lets through to the port
    uint32_t wire_head = 0, wire_count = 0;
    recorder *record_tx = nullptr, *record_rx = nullptr;
    rte_mbuf *recorded_ahead = nullptr;           // copied for the record, but the port had no room for it yet
};
constexpr uint16_t no_link = UINT16_MAX;
constexpr uint32_t max_links = 64;  // applications of one dispatcher

call_result app_tx(void *role, const stage_call &call);           // client
call_result app_rx_answers(void *role, const stage_call &call);   // client
call_result app_rx_requests(void *role, const stage_call &call);  // server
void views_alone(application &a);                                 // before the first call, where answering->alone
call_result disp_tx_client(void *role, const stage_call &call);
call_result disp_tx_server(void *role, const stage_call &call);
call_result disp_rx(void *role, const stage_call &call);
call_result nic_tx(void *role, const stage_call &call);
call_result nic_rx(void *role, const stage_call &call);
call_result nic_rx_paced(void *role, const stage_call &call);     // where the dispatcher has paced frames

// Counts bytes on their way to the port; where faults change what leaves, nic_tx does.
inline void count_tx_bytes(const dispatcher &d, uint64_t bytes, const stage_call &call) {
    if (likely(!d.is_emulated)) call.stats->tx_bytes += bytes;
}

// 60 bytes is the least that Ethernet carries; a NIC pads by itself, the software ports do not.
inline void pad_frame(rte_mbuf *m) {
    if (likely(m->pkt_len >= frame_min_bytes)) return;
    const uint32_t missing = frame_min_bytes - m->pkt_len;
    std::memset(rte_pktmbuf_mtod_offset(m, uint8_t *, m->pkt_len), 0, missing);
    m->data_len = static_cast<uint16_t>(m->data_len + missing);
    m->pkt_len += missing;
}

// Moves up to `most` packets of the outbox into its ring; returns how many.
inline uint32_t outbox_flush(outbox &out, uint32_t most) {
    const uint32_t moved = out.towards->to_dispatcher->put(out.packets.data() + out.head, std::min(most, out.count));
    out.head += moved;
    out.count -= moved;
    return moved;
}

}  // namespace wt
