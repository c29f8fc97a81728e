// The rings between an application and its dispatchers, and the packets that wait for room in one.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "core/line_vector.h"
#include "core/ring.h"

namespace wt {

using packet_ring = spsc_ring<rte_mbuf *>;

// The two rings between an application and one of its dispatchers.
struct link {
    std::unique_ptr<packet_ring> to_dispatcher;
    std::unique_ptr<packet_ring> to_application;
};

// Packets of finished messages that wait for room in the ring of one link.
struct outbox {
    line_vector<rte_mbuf *> packets;
    uint32_t head = 0, count = 0;
    link *towards = nullptr;
};

// Moves up to `most` packets of the outbox into its ring; returns how many.
inline uint32_t outbox_flush(outbox &out, uint32_t most) {
    const uint32_t moved =
        out.towards->to_dispatcher->put(out.packets.data() + out.head, std::min(most, out.count));
    out.head += moved;
    out.count -= moved;
    return moved;
}

}  // namespace wt
