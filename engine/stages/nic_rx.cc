// nic_rx: receives a burst from the port's queue.
#include "stages/port_queue.h"
#include "stages/stages.h"

namespace wt {

call_result nic_rx(void *role, const stage_call &call) {
    port_queue &q = *static_cast<port_queue *>(role);
    uint32_t room;
    rte_mbuf **packets = handover_room(*q.received, &room);
    if (unlikely(room == 0)) return {0, for_ring};
    const uint16_t count = port_receive(q, packets, std::min(room, q.batch_rx));
    if (count == 0) return {0};

    call.stats->packets += count;
    call.stats->bursts++;
    if (unlikely(q.record_rx != nullptr))
        recorder_take(q.record_rx, packets, count, stage_now(call), direction::received);
    handover_put(*q.received, count);
    return {count};
}

}  // namespace wt
