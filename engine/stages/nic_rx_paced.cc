// nic_rx without a NIC: plays the frames of a capture from memory, at the capture's times.
//
// Frames enter while clients may send, so a drain is a drain here too. A frame that finds no mbuf or no room
// enters late. Its lateness is recorded; no frame is left out.
#include "core/mbufs.h"
#include "core/packet.h"
#include "stages/port_queue.h"
#include "stages/stages.h"
#include "stages/tagging.h"

namespace wt {

static void fill(const paced_frames &p, uint32_t index, rte_mbuf *m) {
    const auto [at, bytes] = p.frames[index];
    std::memcpy(rte_pktmbuf_mtod(m, uint8_t *), p.bytes + at, bytes);
    set_length(m, bytes);
}

call_result nic_rx_paced(void *role, const stage_call &call) {
    port_queue &q = *static_cast<port_queue *>(role);
    paced_frames &p = *q.paced;
    if (!p.signals->sending.load(std::memory_order_acquire)) return {0};
    p.times.start = p.signals->sending_since;
    const uint64_t now = stage_now(call);
    const uint32_t due = pacer_due(p.times, now, q.batch_rx);
    if (due == 0) return {0};
    uint32_t room;
    rte_mbuf **packets = handover_room(*q.received, &room);
    const uint32_t count = std::min(room, due);
    if (count == 0) return {0, for_ring};
    if (!mbufs_take(q.pool, packets, count)) return {0, for_mbufs};

    for (uint32_t i = 0; i < count; i++) {
        fill(p, p.times.next + i, packets[i]);
        p.late.add(ticks_to_ns(now - pacer_time(p.times, p.times.next + i), p.tick_mult));
    }
    pacer_advance(p.times, count);
    call.stats->packets += count;
    call.stats->bursts++;
    if (unlikely(q.record_rx != nullptr))
        recorder_take(q.record_rx, packets, count, now, direction::received);
    handover_put(*q.received, q.tag != 0 ? take_tags(q, packets, count, call) : count);
    return {count};
}

}  // namespace wt
