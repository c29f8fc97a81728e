// nic_tx: posts a burst to the port's queue. Emulated faults and the emulated link act here.
#include "stages/port_queue.h"
#include "stages/stages.h"
#include "stages/tagging.h"

namespace wt {

// Recording copies each packet before the port takes it. A packet that the port refuses is not copied again.
__rte_noinline static uint32_t post_recorded(port_queue &q, rte_mbuf **packets, uint32_t count) {
    uint32_t sent = 0;
    for (; sent < count; sent++) {
        if (packets[sent] != q.recorded_ahead)
            recorder_take(q.record_tx, packets + sent, 1, now(), direction::sent);
        q.recorded_ahead = packets[sent];
        if (port_send(q, packets + sent, 1) == 0) break;
        q.recorded_ahead = nullptr;
    }
    return sent;
}

// Posts as many packets as the port takes, and counts them.
static inline uint32_t post(port_queue &q, rte_mbuf **packets, uint32_t count, const stage_call &call) {
    const uint32_t sent =
        unlikely(q.record_tx != nullptr) ? post_recorded(q, packets, count) : port_send(q, packets, count);
    call.stats->packets += sent;
    call.stats->bursts += sent > 0;
    return sent;
}

// `tagged`: how many of the packets that wait have their tag. `refused`: the port has no room for all of
// them.
template <bool in_vlan>
static inline uint32_t post_from(port_queue &q, handover &from, uint32_t most, uint32_t &tagged,
                                 const stage_call &call, bool *waiting, bool *refused) {
    uint32_t count;
    rte_mbuf **packets = handover_peek(from, most, &count);
    if (count == 0) return 0;
    *waiting = true;
    if (in_vlan && count > tagged) {
        add_tags(q, packets + tagged, count - tagged, call);
        tagged = count;
    }
    const uint32_t sent = post(q, packets, count, call);
    if (in_vlan) tagged -= sent;
    handover_consume(from, sent);
    *refused = sent < count;
    return sent;
}

// Takes at most a burst of the waiting packets and applies the faults, if there are any. Returns how many
// were taken.
static uint32_t through_faults(port_queue &q, rte_mbuf **out, uint32_t *passed_on, const stage_call &call) {
    faults *const f = q.emulated_faults.get();
    const uint64_t lost = f ? f->lost : 0, duplicated = f ? f->duplicated : 0;
    uint32_t taken = 0, passed = 0, count;
    for (handover *from : {q.replies.get(), q.sending.get()}) {
        if (from == nullptr) continue;
        rte_mbuf **packets = handover_peek(*from, q.batch_tx - taken, &count);
        if (q.tag != 0) add_tags(q, packets, count, call);
        if (f == nullptr)
            std::copy_n(packets, count, out + passed), passed += count;
        else if (count > 0)
            passed += faults_apply(*f, packets, count, out + passed);
        handover_consume(*from, count);
        taken += count;
    }
    *passed_on = passed;
    if (f == nullptr) return taken;
    // In an idle queue nothing else releases the packets that reordering holds back.
    if (taken == 0) *passed_on = faults_release(*f, out);
    call.stats->wire_lost += f->lost - lost;
    call.stats->wire_duplicated += f->duplicated - duplicated;
    count_drop(call, drop::emulated_loss, f->lost - lost);
    return taken;
}

// The link takes or drops each packet. When the port has taken the previous burst, the packets that have
// arrived become the next one.
static uint32_t over_link(port_queue &q, const stage_call &call) {
    const uint64_t now = stage_now(call);
    uint32_t count;
    const uint32_t taken = through_faults(q, q.after_faults.data(), &count, call);
    const uint32_t full = link_enter(*q.link_ahead, q.after_faults.data(), count, now);
    call.stats->wire_full += full;
    count_drop(call, drop::emulated_queue_full, full);
    if (q.wire_count == 0) q.wire_count = link_leave(*q.link_ahead, q.wire_burst.data(), q.batch_tx, now);
    return taken;
}

// On an emulated wire packets wait in a burst of their own until the port takes them.
__rte_noinline static uint32_t post_emulated(port_queue &q, const stage_call &call, bool *waiting) {
    const bool was_empty = q.wire_count == 0;
    uint32_t taken = 0;
    if (was_empty) q.wire_head = 0;
    if (q.link_ahead != nullptr)
        taken = over_link(q, call);
    else if (was_empty)
        taken = through_faults(q, q.wire_burst.data(), &q.wire_count, call);
    if (q.wire_count == 0) return q.link_ahead != nullptr ? 0 : taken;
    for (uint32_t i = 0; was_empty && i < q.wire_count; i++)
        call.stats->tx_bytes += bytes_on_wire(q, q.wire_burst[i]);
    const uint32_t sent = post(q, q.wire_burst.data() + q.wire_head, q.wire_count, call);
    q.wire_head += sent;
    q.wire_count -= sent;
    *waiting = sent == 0 && taken == 0;
    // A packet on the link counts when it leaves for the port, so that it does not count twice.
    return q.link_ahead != nullptr ? sent : std::max(taken, std::min(sent, q.batch_tx));
}

template <bool in_vlan>
static inline call_result transmit(port_queue &q, const stage_call &call) {
    bool waiting = false, refused = false;
    uint32_t sent = 0;
    if (unlikely(q.is_emulated)) {
        sent = post_emulated(q, call, &waiting);
    } else {
        if (q.replies)
            sent = post_from<in_vlan>(q, *q.replies, q.batch_tx, q.tagged_replies, call, &waiting, &refused);
        // A port that has no room is not asked again, and the packet that it refused stays the one that is
        // recorded.
        if (likely(!refused) && sent < q.batch_tx)
            sent += post_from<in_vlan>(q, *q.sending, q.batch_tx - sent, q.tagged_sending, call, &waiting,
                                       &refused);
    }
    if (unlikely(waiting && sent == 0)) return {0, for_port};
    return {sent};
}

call_result nic_tx(void *role, const stage_call &call) {
    return transmit<false>(*static_cast<port_queue *>(role), call);
}

call_result nic_tx_in_vlan(void *role, const stage_call &call) {
    return transmit<true>(*static_cast<port_queue *>(role), call);
}

}  // namespace wt
