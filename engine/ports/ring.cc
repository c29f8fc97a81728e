// net_ring: both ends of the wire in one process, a ring for each queue and direction.
#include <rte_errno.h>
#include <rte_eth_ring.h>

#include "core/refusal.h"
#include "ports/kinds.h"

namespace wt {

namespace {

// The rings that lead to one endpoint.
struct wire {
    std::vector<rte_ring *> queues;
    ~wire() {
        for (rte_ring *r : queues) rte_ring_free(r);
    }
};

void make_queues(wire &w, const endpoint_plan &receiver, size_t index, int numa_socket) {
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

}  // namespace

std::array<port, 2> make_rings(const plan &p, const std::vector<rte_mempool *> &pools) {
    if (p.endpoints[0].port.queues != p.endpoints[1].port.queues)
        throw refusal("ring wire: both ends need the same number of queues, they have " +
                      std::to_string(p.endpoints[0].port.queues) + " and " +
                      std::to_string(p.endpoints[1].port.queues));
    struct both {
        wire towards[2];
    };
    const auto wires = std::make_shared<both>();
    for (size_t i = 0; i < 2; i++) make_queues(wires->towards[i], p.endpoints[i], i, pools[i]->socket_id);

    std::array<port, 2> made{port{.kind = port_kind::ring}, port{.kind = port_kind::ring}};
    for (size_t i = 0; i < 2; i++) {
        const std::vector<rte_ring *> &in = wires->towards[i].queues, &out = wires->towards[1 - i].queues;
        const std::string name = "wt" + std::to_string(i);
        const int id = rte_eth_from_rings(name.c_str(), in.data(), in.size(), out.data(), out.size(),
                                          pools[i]->socket_id);
        if (id < 0)
            throw refusal("ring wire: net_ring cannot be made: " + std::string(rte_strerror(rte_errno)));
        made[i].id = static_cast<uint16_t>(id);
        made[i].device = "net_ring_" + name;  // as the driver names it
        made[i].keeps = wires;
        made[i].notes.push_back("net_ring moves mbufs: no copy, no DMA");
    }
    return made;
}

}  // namespace wt
