// Both ends of the wire in one process, a ring for each queue and direction: by net_ring where queue q
// of each end sends to queue q of the other; else with a switch in the sender, which does what a NIC's
// steering does.
#include <rte_errno.h>
#include <rte_eth_ring.h>

#include "core/frame_ipv6.h"
#include "core/packet.h"
#include "core/refusal.h"
#include "core/vlan.h"
#include "wires/device.h"
#include "wires/wire.h"

namespace wt {

namespace {

constexpr uint32_t drain_burst = 64;
// One dispatcher on each side of a queue.
constexpr unsigned one_sender = RING_F_SP_ENQ | RING_F_SC_DEQ;
// Of a switch every queue of the sender's may send to it, on workers that the kernel may stop half-way.
constexpr unsigned many_senders = RING_F_MP_RTS_ENQ | RING_F_SC_DEQ;

// The rings that lead to one endpoint.
struct queues_in {
    std::vector<rte_ring *> queues;
    ~queues_in() {
        for (rte_ring *r : queues) rte_ring_free(r);
    }
};

// How a frame comes to its queue: by the UDP port that it is for.
struct frame_switch {
    const std::vector<rte_ring *> *to;
    uint16_t first_port;
    uint16_t port_at;  // from a frame's first byte
};

// What one queue of a port works with, where there is a switch.
struct switched_queue {
    rte_ring *in;
    const frame_switch *out;
};

// The rings of both directions; the rest only where there is a switch.
struct both_ways {
    queues_in towards[2];
    frame_switch switches[2];
    std::vector<switched_queue> queues[2];
};

void make_queues(queues_in &w, const endpoint_plan &receiver, size_t index, int numa_socket,
                 unsigned senders) {
    for (uint16_t q = 0; q < receiver.port.queues; q++) {
        const std::string name = "wt_wire" + std::to_string(index) + "_" + std::to_string(q);
        // exact, as a NIC's queue holds what its descriptors say
        rte_ring *r = rte_ring_create(name.c_str(), receiver.port.rx_descriptors, numa_socket,
                                      senders | RING_F_EXACT_SZ);
        if (!r)
            throw refusal("ring wire: a queue of " + std::to_string(receiver.port.rx_descriptors) +
                          " packets cannot be made: " + rte_strerror(rte_errno));
        w.queues.push_back(r);
    }
}

// A frame for no port of the receiver comes to its first queue, as it does on a NIC without a rule for it.
rte_ring *ring_for(const frame_switch &s, rte_mbuf *m) {
    uint16_t port;
    if (unlikely(m->data_len < s.port_at + sizeof port)) return (*s.to)[0];
    std::memcpy(&port, frame_of(m) + s.port_at, sizeof port);
    const auto queue = static_cast<uint16_t>(rte_be_to_cpu_16(port) - s.first_port);
    return (*s.to)[likely(queue < s.to->size()) ? queue : 0];
}

uint16_t receive_switched(void *queue, rte_mbuf **packets, uint16_t most) {
    rte_ring *const in = static_cast<switched_queue *>(queue)->in;
    return static_cast<uint16_t>(
        rte_ring_dequeue_burst(in, reinterpret_cast<void **>(packets), most, nullptr));
}

uint16_t send_switched(void *queue, rte_mbuf **packets, uint16_t count) {
    const frame_switch &out = *static_cast<switched_queue *>(queue)->out;
    uint16_t sent = 0;
    while (sent < count && rte_ring_enqueue(ring_for(out, packets[sent]), packets[sent]) == 0) sent++;
    return sent;
}

constexpr queue_ops switched = {.rx = receive_switched, .tx = send_switched};

void open_device(port &made, size_t index, both_ways &wires, int numa_socket) {
    const std::vector<rte_ring *> &in = wires.towards[index].queues, &out = wires.towards[1 - index].queues;
    const std::string name = "wt" + std::to_string(index);
    const int id =
        rte_eth_from_rings(name.c_str(), in.data(), in.size(), out.data(), out.size(), numa_socket);
    if (id < 0) throw refusal("ring wire: net_ring cannot be made: " + std::string(rte_strerror(rte_errno)));
    made.id = static_cast<uint16_t>(id);
    made.device = "net_ring_" + name;  // as the driver names it
    made.notes.push_back("net_ring moves mbufs: no copy, no DMA");
}

void open_switched(port &made, size_t index, both_ways &wires, const endpoint_plan &own,
                   const endpoint_plan &peer) {
    const uint16_t at = own.ip.is_v6 ? offset_ipv6::destination_port : offset::destination_port;
    wires.switches[index] = {&wires.towards[1 - index].queues, peer.udp_port,
                             static_cast<uint16_t>(at + (own.vlan ? vlan_tag_bytes : 0))};
    for (rte_ring *in : wires.towards[index].queues)
        wires.queues[index].push_back({in, &wires.switches[index]});
    for (switched_queue &queue : wires.queues[index]) made.channels.push_back(&queue);
    made.queue = &switched;
    made.driver = "rte_ring";
    made.mac = *own.mac;
    made.notes.push_back("rings move mbufs: no copy, no DMA; queues: " + std::to_string(own.port.queues) +
                         " on this side, " + std::to_string(peer.port.queues) +
                         " on the other, so nic_tx puts each frame into that of its UDP port");
}

// Whether queue q of each end sends to queue q of the other, and to no other.
bool is_paired(std::span<const wire_end> ends) {
    if (ends[0].plan.port.queues != ends[1].plan.port.queues) return false;
    for (const wire_end &end : ends)
        for (const dispatcher_plan &d : end.plan.dispatchers)
            if (end.plan.side == side::client && d.peers != std::vector<uint16_t>{d.queue}) return false;
    return true;
}

std::vector<port> open_rings(std::span<const wire_end> ends) {
    const bool is_switched = !is_paired(ends);
    const auto wires = std::make_shared<both_ways>();
    for (size_t i = 0; i < 2; i++)
        make_queues(wires->towards[i], ends[i].plan, i, ends[i].pool->socket_id,
                    is_switched ? many_senders : one_sender);
    std::vector<port> made(2);
    for (size_t i = 0; i < 2; i++) {
        made[i].keeps = wires;
        if (is_switched)
            open_switched(made[i], i, *wires, ends[i].plan, ends[1 - i].plan);
        else
            open_device(made[i], i, *wires, ends[i].pool->socket_id);
    }
    return made;
}

uint16_t receive(const port &p, uint16_t queue, rte_mbuf **packets, uint16_t most) {
    if (p.queue) return p.queue->rx(p.channels[queue], packets, most);
    return rte_eth_rx_burst(p.id, queue, packets, most);
}

uint32_t drain_ring(const port &, const port &receiver) {
    uint32_t freed = 0;
    for (uint16_t q = 0; q < receiver.queues; q++) {
        rte_mbuf *burst[drain_burst];
        while (const uint16_t count = receive(receiver, q, burst, drain_burst)) {
            rte_pktmbuf_free_bulk(burst, count);
            freed += count;
        }
    }
    return freed;
}

link_state link_of_ring(const port &p) { return p.queue ? link_state::up : link_of_device(p); }

std::string words_of_ring(const port &p) { return p.queue ? "link up" : words_of_device(p); }

uint64_t missed_by_ring(const port &p) { return p.queue ? 0 : missed_by_device(p); }

void close_ring(port &made) {
    if (!made.queue) close_device(made);
}

constexpr port_operations operations = {
    .link = link_of_ring,
    .words = words_of_ring,
    .missed = missed_by_ring,
    .drain = drain_ring,
    .close = close_ring,
};

}  // namespace

WT_WIRE(ring) = {
    .about = {.abi = WT_WIRE_ABI,
              .size = sizeof(wt_wire),
              .name = "ring",
              .help = "both sides in one process",
              .driver = "net_ring",
              .peer = "the other endpoint, same process",
              .copies = "none: mbufs are moved",
              .flags = WT_WIRE_SERVER | WT_WIRE_CLIENT | WT_WIRE_BOTH_ENDS | WT_WIRE_TOGETHER |
                       WT_WIRE_TWICE | WT_WIRE_MOVES_MBUFS | WT_WIRE_EMULATES,
              .most_queues = 16,         // RTE_PMD_RING_MAX_RX_RINGS, which no header shows
              .mbufs = {.peer_rx = 1}},  // a ring holds what its receiver has descriptors for
    .open = open_rings,
    .operations = &operations,
};

}  // namespace wt
