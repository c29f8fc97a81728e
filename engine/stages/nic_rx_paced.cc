// nic_rx without a NIC: the frames of a capture enter at their own times, from memory.
//
// They come while clients may send, so that a drain is one here too. A frame that finds no mbuf or no room
// enters late, and how late is recorded; none is left out.
#include "stages/roles.h"

namespace wt {

static void fill(const paced_frames &p, uint32_t index, rte_mbuf *m) {
    const auto [at, bytes] = p.frames[index];
    std::memcpy(rte_pktmbuf_mtod(m, uint8_t *), p.bytes + at, bytes);
    m->data_len = static_cast<uint16_t>(bytes);
    m->pkt_len = bytes;
}

call_result nic_rx_paced(void *role, const stage_call &call) {
    dispatcher &d = *static_cast<dispatcher *>(role);
    paced_frames &p = *d.paced;
    if (!p.signals->sending.load(std::memory_order_acquire)) return {0, false};
    p.times.start = p.signals->sending_since;
    const uint64_t now = stage_now(call);
    const uint32_t due = pacer_due(p.times, now, d.post_rx);
    if (due == 0) return {0, false};
    uint32_t room;
    rte_mbuf **packets = handover_room(*d.received, &room);
    const uint32_t count = std::min(room, due);
    if (count == 0 || !mbufs_take(d.pool, packets, count)) return {0, true};

    for (uint32_t i = 0; i < count; i++) {
        fill(p, p.times.next + i, packets[i]);
        p.late.add(ticks_to_ns(now - pacer_time(p.times, p.times.next + i), p.tick_mult));
    }
    pacer_advance(p.times, count);
    call.stats->packets += count;
    call.stats->bursts++;
    if (unlikely(d.record_rx != nullptr)) recorder_take(d.record_rx, packets, count, now);
    handover_put(*d.received, count);
    return {count, false};
}

}  // namespace wt
