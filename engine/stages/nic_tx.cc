// nic_tx: posts a burst to the port's queue; the faults and the link of an emulated wire lie here.
#include <rte_ethdev.h>

#include "stages/roles.h"

namespace wt {

// Recording copies a packet before the port has it, one at a time; one that the port then refuses is not copied again.
__rte_noinline static uint32_t post_recorded(dispatcher &d, rte_mbuf **packets, uint32_t count) {
    uint32_t sent = 0;
    for (; sent < count; sent++) {
        if (packets[sent] != d.recorded_ahead) recorder_take(d.record_tx, packets + sent, 1, now());
        d.recorded_ahead = packets[sent];
        if (rte_eth_tx_burst(d.port, d.queue, packets + sent, 1) == 0) break;
        d.recorded_ahead = nullptr;
    }
    return sent;
}

// Posts what the port takes and counts it.
static inline uint32_t post(dispatcher &d, rte_mbuf **packets, uint32_t count, const stage_call &call) {
    const uint32_t sent = unlikely(d.record_tx != nullptr)
                              ? post_recorded(d, packets, count)
                              : rte_eth_tx_burst(d.port, d.queue, packets, static_cast<uint16_t>(count));
    call.stats->packets += sent;
    call.stats->bursts += sent > 0;
    return sent;
}

static inline uint32_t post_from(dispatcher &d, handover &from, uint32_t most, const stage_call &call, bool *waiting) {
    uint32_t count;
    rte_mbuf **packets = handover_peek(from, most, &count);
    if (count == 0) return 0;
    *waiting = true;
    const uint32_t sent = post(d, packets, count, call);
    handover_consume(from, sent);
    return sent;
}

// What waits to be sent, a burst at the most, through the faults if there are any. Returns how many were taken.
static uint32_t through_faults(dispatcher &d, rte_mbuf **out, uint32_t *let_through, const stage_call &call) {
    faults *const f = d.emulated.get();
    const uint64_t lost = f ? f->lost : 0, duplicated = f ? f->duplicated : 0;
    uint32_t taken = 0, passed = 0, count;
    for (handover *from : {d.replies.get(), d.sending.get()}) {
        if (from == nullptr) continue;
        rte_mbuf **packets = handover_peek(*from, d.post_tx - taken, &count);
        if (f == nullptr)
            std::copy_n(packets, count, out + passed), passed += count;
        else if (count > 0)
            passed += faults_apply(*f, packets, count, out + passed);
        handover_consume(*from, count);
        taken += count;
    }
    *let_through = passed;
    if (f == nullptr) return taken;
    // An idle queue would keep the held packets for ever.
    if (taken == 0) *let_through = faults_release(*f, out);
    call.stats->wire_lost += f->lost - lost;
    call.stats->wire_duplicated += f->duplicated - duplicated;
    count_drop(call, drop::emulated_loss, f->lost - lost);
    return taken;
}

// The link takes, or drops, whatever comes, and gives what has arrived once the port has had what came before.
static uint32_t over_link(dispatcher &d, const stage_call &call) {
    const uint64_t now = stage_now(call);
    uint32_t count;
    const uint32_t taken = through_faults(d, d.let_through.data(), &count, call);
    const uint32_t full = link_enter(*d.link_ahead, d.let_through.data(), count, now);
    call.stats->wire_full += full;
    count_drop(call, drop::emulated_queue_full, full);
    if (d.wire_count == 0) d.wire_count = link_leave(*d.link_ahead, d.wire_burst.data(), d.post_tx, now);
    return taken;
}

// On an emulated wire packets go through a burst of their own: what has been let through waits there for the port.
__rte_noinline static uint32_t post_emulated(dispatcher &d, const stage_call &call, bool *waiting) {
    const bool was_empty = d.wire_count == 0;
    uint32_t taken = 0;
    if (was_empty) d.wire_head = 0;
    if (d.link_ahead != nullptr)
        taken = over_link(d, call);
    else if (was_empty)
        taken = through_faults(d, d.wire_burst.data(), &d.wire_count, call);
    if (d.wire_count == 0) return d.link_ahead != nullptr ? 0 : taken;
    for (uint32_t i = 0; was_empty && i < d.wire_count; i++) call.stats->tx_bytes += d.wire_burst[i]->pkt_len;
    const uint32_t sent = post(d, d.wire_burst.data() + d.wire_head, d.wire_count, call);
    d.wire_head += sent;
    d.wire_count -= sent;
    *waiting = sent == 0 && taken == 0;
    // A packet that waits on the link is moved when it leaves for the port, so that none counts twice.
    return d.link_ahead != nullptr ? sent : std::max(taken, std::min(sent, d.post_tx));
}

call_result nic_tx(void *role, const stage_call &call) {
    dispatcher &d = *static_cast<dispatcher *>(role);
    bool waiting = false;
    uint32_t sent = 0;
    if (unlikely(d.is_emulated)) {
        sent = post_emulated(d, call, &waiting);
    } else {
        if (d.replies) sent = post_from(d, *d.replies, d.post_tx, call, &waiting);
        if (sent < d.post_tx) sent += post_from(d, *d.sending, d.post_tx - sent, call, &waiting);
    }
    return {sent, waiting && sent == 0};
}

}  // namespace wt
