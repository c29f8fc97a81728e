// Packets on their way between two stages of one dispatcher: nic_rx -> disp_rx, disp_rx -> nic_tx, disp_tx ->
// nic_tx.
//
// Where one worker runs both stages this is an array that both look at; where two do, a ring lies between.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/line_vector.h"
#include "core/ring.h"

namespace wt {

struct handover {
    std::unique_ptr<spsc_ring<rte_mbuf *>> ring;  // null: both stages run on one worker
    line_vector<rte_mbuf *> producer_side;        // with a ring: where a burst is gathered
    alignas(RTE_CACHE_LINE_SIZE) line_vector<rte_mbuf *> packets;
    uint32_t head = 0, tail = 0;  // of packets; the consumer's with a ring, else shared

    // `capacity`: the largest burst of either side. `node`: of a ring (core/ring.h).
    handover(const std::string &name, uint32_t capacity, bool between_workers, uint32_t ring_size,
             int node = -1)
        : packets(capacity) {
        if (!between_workers) return;
        ring = std::make_unique<spsc_ring<rte_mbuf *>>(name, ring_size, node);
        producer_side.resize(capacity);
    }
};

// Producer: where to write the next packets, and how many fit there.
inline rte_mbuf **handover_room(handover &h, uint32_t *room) {
    if (h.ring) {
        *room = std::min<uint32_t>(h.ring->room(), h.producer_side.size());
        return h.producer_side.data();
    }
    if (h.head == h.tail) h.head = h.tail = 0;
    *room = static_cast<uint32_t>(h.packets.size()) - h.tail;
    return h.packets.data() + h.tail;
}

// Producer: hands over the `count` packets that were written there.
inline void handover_put(handover &h, uint32_t count) {
    if (h.ring)
        h.ring->put(h.producer_side.data(), count);
    else
        h.tail += count;
}

// Consumer: the packets that wait, `most` of them at the most.
inline rte_mbuf **handover_peek(handover &h, uint32_t most, uint32_t *count) {
    if (h.ring && h.head == h.tail) {
        h.head = 0;
        h.tail = h.ring->take(h.packets.data(), static_cast<uint32_t>(h.packets.size()));
    }
    *count = std::min(most, h.tail - h.head);
    return h.packets.data() + h.head;
}

// Consumer: is done with the first `count` of them.
inline void handover_consume(handover &h, uint32_t count) { h.head += count; }

}  // namespace wt
