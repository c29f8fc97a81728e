// nic_rx: receives a burst from the port's queue.
#include <algorithm>

#include "stages/port_queue.h"
#include "stages/stages.h"
#include "stages/tagging.h"

namespace wt {

static void count_received(port_queue &q, rte_mbuf **packets, uint32_t count, const stage_call &call) {
    call.stats->packets += count;
    call.stats->bursts++;
    if (unlikely(q.record_rx != nullptr))
        recorder_take(q.record_rx, packets, count, stage_now(call), direction::received);
}

// Without room to hand packets over: only who receives one knows whether one waits. Few are kept here until
// there is room.
__rte_noinline static call_result receive_early(port_queue &q, const stage_call &call) {
    early_packets &e = q.early;
    if (e.count == 0) {
        e.count = port_receive(q, e.packets.data(), static_cast<uint32_t>(e.packets.size()));
        if (e.count == 0) return {0};
        e.head = 0;
        count_received(q, e.packets.data(), e.count, call);
        if (q.tag != 0) e.count = take_tags(q, e.packets.data(), e.count, call);
    }
    return {0, for_ring};
}

__rte_noinline static call_result hand_over_early(port_queue &q, rte_mbuf **to, uint32_t room) {
    early_packets &e = q.early;
    const uint32_t count = std::min(room, e.count);
    std::copy_n(e.packets.data() + e.head, count, to);
    e.head += count;
    e.count -= count;
    handover_put(*q.received, count);
    return {count};
}

template <bool in_vlan>
static inline call_result receive(port_queue &q, const stage_call &call) {
    uint32_t room;
    rte_mbuf **packets = handover_room(*q.received, &room);
    if (unlikely(room == 0)) return receive_early(q, call);
    if (unlikely(q.early.count > 0)) return hand_over_early(q, packets, room);
    const uint16_t count = port_receive(q, packets, std::min(room, q.batch_rx));
    if (count == 0) return {0};

    count_received(q, packets, count, call);
    handover_put(*q.received, in_vlan ? take_tags(q, packets, count, call) : count);
    return {count};
}

call_result nic_rx(void *role, const stage_call &call) {
    return receive<false>(*static_cast<port_queue *>(role), call);
}

call_result nic_rx_in_vlan(void *role, const stage_call &call) {
    return receive<true>(*static_cast<port_queue *>(role), call);
}

}  // namespace wt
