// net_ring: both ends of the wire in one process, a ring for each queue and direction.
#include <rte_errno.h>
#include <rte_eth_ring.h>

#include "core/refusal.h"
#include "wires/device.h"
#include "wires/wire.h"

namespace wt {

namespace {

constexpr uint32_t drain_burst = 64;

// The rings that lead to one endpoint.
struct queues_in {
    std::vector<rte_ring *> queues;
    ~queues_in() {
        for (rte_ring *r : queues) rte_ring_free(r);
    }
};

void make_queues(queues_in &w, const endpoint_plan &receiver, size_t index, int numa_socket) {
    for (uint16_t q = 0; q < receiver.port.queues; q++) {
        const std::string name = "wt_wire" + std::to_string(index) + "_" + std::to_string(q);
        // one dispatcher on each side of a queue; exact, as a NIC's queue holds what its descriptors say
        rte_ring *r = rte_ring_create(name.c_str(), receiver.port.rx_descriptors, numa_socket,
                                      RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
        if (!r)
            throw refusal("ring wire: a queue of " + std::to_string(receiver.port.rx_descriptors) +
                          " packets cannot be made: " + rte_strerror(rte_errno));
        w.queues.push_back(r);
    }
}

std::vector<port> open_rings(std::span<const wire_end> ends) {
    if (ends[0].plan.port.queues != ends[1].plan.port.queues)
        throw refusal("ring wire: both ends need the same number of queues, they have " +
                      std::to_string(ends[0].plan.port.queues) + " and " +
                      std::to_string(ends[1].plan.port.queues));
    struct both {
        queues_in towards[2];
    };
    const auto wires = std::make_shared<both>();
    for (size_t i = 0; i < 2; i++) make_queues(wires->towards[i], ends[i].plan, i, ends[i].pool->socket_id);

    std::vector<port> made(2);
    for (size_t i = 0; i < 2; i++) {
        const std::vector<rte_ring *> &in = wires->towards[i].queues, &out = wires->towards[1 - i].queues;
        const std::string name = "wt" + std::to_string(i);
        const int id = rte_eth_from_rings(name.c_str(), in.data(), in.size(), out.data(), out.size(),
                                          ends[i].pool->socket_id);
        if (id < 0)
            throw refusal("ring wire: net_ring cannot be made: " + std::string(rte_strerror(rte_errno)));
        made[i].id = static_cast<uint16_t>(id);
        made[i].device = "net_ring_" + name;  // as the driver names it
        made[i].keeps = wires;
        made[i].notes.push_back("net_ring moves mbufs: no copy, no DMA");
    }
    return made;
}

uint32_t drain_ring(const port &, const port &receiver) {
    uint32_t freed = 0;
    for (uint16_t q = 0; q < receiver.queues; q++) {
        rte_mbuf *burst[drain_burst];
        while (const uint16_t count = rte_eth_rx_burst(receiver.id, q, burst, drain_burst)) {
            rte_pktmbuf_free_bulk(burst, count);
            freed += count;
        }
    }
    return freed;
}

constexpr port_operations operations = {
    .link = link_of_device,
    .words = words_of_device,
    .missed = missed_by_device,
    .drain = drain_ring,
    .close = close_device,
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
