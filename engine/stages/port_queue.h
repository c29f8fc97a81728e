// One queue of a port: the role behind nic_rx and nic_tx.
//
// nic_rx and nic_tx may run on different workers, so what nic_tx writes is on cache lines of its own.
#pragma once

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/handover.h"
#include "core/histogram.h"
#include "core/line_vector.h"
#include "core/pacer.h"
#include "core/worker.h"
#include "wires/emulated_link.h"
#include "wires/faults.h"
#include "wires/port.h"
#include "wires/recorder.h"

namespace wt {

// The frames that nic_rx_paced plays at the times of a capture.
struct paced_frames {
    const run_signals *signals;
    pacer times;
    const uint8_t *bytes;
    std::vector<std::pair<uint64_t, uint32_t>> frames;  // offset in `bytes`, and length
    uint64_t tick_mult;                                 // ns = ticks * tick_mult >> 32
    latency_histogram late;                             // ns from a frame's own time to its entry
};

// Packets that nic_rx received without room to hand them over. A vectorised driver gives no fewer than 8 at
// once.
constexpr uint32_t most_early = 8;
struct alignas(RTE_CACHE_LINE_SIZE) early_packets {
    line_vector<rte_mbuf *> packets;
    uint32_t head = 0, count = 0;
};

struct port_queue {
    uint16_t port, queue;
    const queue_ops *transport = nullptr;  // null: an ethdev
    void *channel = nullptr;               // of a transport: this queue's
    uint32_t untold_bytes = 0;  // of an mbuf that do not travel: the headers' place on a wire without frames
    uint32_t batch_rx, batch_tx;  // of nic_rx, nic_tx
    uint32_t tag = 0;             // of the endpoint's VLAN, as it stands in a frame; 0: it is in none
    rte_mempool *pool;

    std::unique_ptr<handover> received;   // nic_rx -> disp_rx
    std::unique_ptr<handover> replies;    // disp_rx -> nic_tx; null if disp_rx uses `sending`
    std::unique_ptr<handover> sending;    // disp_tx -> nic_tx
    std::unique_ptr<paced_frames> paced;  // null: frames come from the port
    recorder *record_tx = nullptr, *record_rx = nullptr;
    early_packets early;  // written by nic_rx

    bool is_emulated = false;                                              // nic_tx applies faults or a link
    alignas(RTE_CACHE_LINE_SIZE) std::unique_ptr<faults> emulated_faults;  // null: none
    std::unique_ptr<emulated_link> link_ahead;                             // null: none
    line_vector<rte_mbuf *> after_faults;  // packets between the faults and the link
    line_vector<rte_mbuf *> wire_burst;    // packets behind the emulation, on their way to the port
    uint32_t wire_head = 0, wire_count = 0;
    rte_mbuf *recorded_ahead = nullptr;  // already recorded, but the port has had no room for it yet
    uint32_t tagged_replies = 0, tagged_sending = 0;  // with a tag already, but likewise
};

// An ethdev's call stays inline. Another transport's is an indirect one, for what are microseconds there.
inline uint16_t port_receive(port_queue &q, rte_mbuf **packets, uint32_t most) {
    if (unlikely(q.transport != nullptr))
        return q.transport->rx(q.channel, packets, static_cast<uint16_t>(most));
    return rte_eth_rx_burst(q.port, q.queue, packets, static_cast<uint16_t>(most));
}

inline uint16_t port_send(port_queue &q, rte_mbuf **packets, uint32_t count) {
    if (unlikely(q.transport != nullptr))
        return q.transport->tx(q.channel, packets, static_cast<uint16_t>(count));
    return rte_eth_tx_burst(q.port, q.queue, packets, static_cast<uint16_t>(count));
}

// Bytes of a packet that travel.
inline uint32_t bytes_on_wire(const port_queue &q, const rte_mbuf *m) { return m->pkt_len - q.untold_bytes; }

// Counts bytes on their way to the port. If faults change what leaves, nic_tx counts instead.
inline void count_tx_bytes(const port_queue &q, uint64_t bytes, const stage_call &call) {
    if (likely(!q.is_emulated)) call.stats->tx_bytes += bytes;
}

}  // namespace wt
