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

// Moves up to `most` of `count` packets, the first at `head`, into the ring; returns how many. The others
// wait.
//
// Both numbers are arguments because the compiler reads them from the outbox as one word: right after they
// have been written as two, that load waits until every store before it has left the CPU's store buffer.
inline uint32_t outbox_move(outbox &out, uint32_t head, uint32_t count, uint32_t most) {
    const uint32_t moved = out.towards->to_dispatcher->put(out.packets.data() + head, std::min(most, count));
    out.head = head + moved;
    out.count = count - moved;
    return moved;
}

// Sends the `count` packets with which the empty outbox has been filled.
inline uint32_t outbox_send(outbox &out, uint32_t count, uint32_t most) {
    return outbox_move(out, 0, count, most);
}

// Sends `count` packets that stand elsewhere; the empty outbox takes those for which the ring has no room.
inline void outbox_send_from(outbox &out, rte_mbuf *const *packets, uint32_t count) {
    const uint32_t moved = out.towards->to_dispatcher->put(packets, count);
    if (likely(moved == count)) return;
    std::copy_n(packets + moved, count - moved, out.packets.data());
    out.head = 0;
    out.count = count - moved;
}

// Sends packets that wait.
inline uint32_t outbox_flush(outbox &out, uint32_t most) {
    return outbox_move(out, out.head, out.count, most);
}

}  // namespace wt
