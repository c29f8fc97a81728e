// nic_rx: takes a burst from the port's queue.
#include <rte_ethdev.h>

#include "stages/roles.h"

namespace wt {

call_result nic_rx(void *role, const stage_call &call) {
    dispatcher &d = *static_cast<dispatcher *>(role);
    uint32_t room;
    rte_mbuf **packets = handover_room(*d.received, &room);
    if (unlikely(room == 0)) return {0, true};
    const uint16_t count = rte_eth_rx_burst(d.port, d.queue, packets, static_cast<uint16_t>(std::min(room, d.post_rx)));
    if (count == 0) return {0, false};

    call.stats->packets += count;
    call.stats->bursts++;
    if (unlikely(d.record_rx != nullptr)) recorder_take(d.record_rx, packets, count, stage_now(call));
    handover_put(*d.received, count);
    return {count, false};
}

}  // namespace wt
