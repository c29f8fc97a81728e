// app_tx where the bodies of requests are copied from a source: it makes packets, has their bodies copied,
// and hands each on when its copy has ended, in their order.
#include "core/packet.h"
#include "parts/copies/copying.h"
#include "stages/app_tx.h"

namespace wt {

namespace {

void nothing_to_free(void *, void *) {}

// zero: the packet's body is a part of the source, behind an mbuf of its own. What the mbuf counts of its
// buffer lies in the room that it does not use now.
void attach(rte_mbuf *m, rte_mbuf *body, const uint8_t *from, uint32_t bytes) {
    auto *shared = reinterpret_cast<rte_mbuf_ext_shared_info *>(body->buf_addr);
    shared->free_cb = nothing_to_free;
    shared->fcb_opaque = nullptr;
    rte_mbuf_ext_refcnt_set(shared, 1);
    auto *const at = const_cast<uint8_t *>(from);
    rte_pktmbuf_attach_extbuf(body, at, reinterpret_cast<rte_iova_t>(at), static_cast<uint16_t>(bytes),
                              shared);
    body->data_len = static_cast<uint16_t>(bytes);
    body->pkt_len = bytes;
    set_length(m, body_offset);
    m->pkt_len += bytes;
    m->nb_segs = 2;
    m->next = body;
}

// Makes sure that each packet of a burst can have an mbuf for its body.
bool stock_bodies(application &a) {
    request_source &s = source_of(a);
    if (s.bodies_count == s.bodies.size()) return true;
    const auto missing = static_cast<uint32_t>(s.bodies.size()) - s.bodies_count;
    if (!mbufs_take(a.pool, s.bodies.data() + s.bodies_count, missing)) return false;
    s.bodies_count += missing;
    return true;
}

void write_packet(const application &a, rte_mbuf *m, const message_header &h, const uint8_t *from,
                  uint32_t body, uint16_t link, copy_stats &stats) {
    body_copying &c = copying_of(a);
    uint8_t *const message = message_of(m);
    message_header_write(message, h);
    if (c.way == copy_way::zero && body > 0) {
        attach(m, source_of(a).bodies[--source_of(a).bodies_count], from, body);
        stats.uncopied++;
        stats.bytes += body;
        return add_ready(c, m, link);
    }
    set_length(m, body_offset + body);
    add_copy(c, m, message + message_header_bytes, from, body, link);
}

// Makes the packets of new messages; returns how many. *lacks: there are messages to send, but no mbufs.
uint32_t make_packets(application &a, uint64_t now, bool *lacks, const stage_call &call) {
    client_sending &s = *a.sending;
    const request_source &source = source_of(a);
    *lacks = !stock_bodies(a);
    if (*lacks) return 0;
    bool wanted;
    const uint32_t count = take_wanted(a, now, &wanted, call);
    *lacks = wanted && count == 0;
    if (count == 0) return 0;
    a.inflight->free.take(s.slots.data(), count);
    const uint16_t link = take_link(a);
    rte_mbuf **packet = a.out.packets.data();
    for (uint32_t i = 0; i < count; i++) {
        const segmentation &shape = s.sizes ? s.shapes[i] : a.request;
        const uint32_t slot = s.slots[i], generation = slot_arm(a.inflight->slots[slot], s.intended[i], now);
        const uint8_t *const from = source.bytes + source_position(source.layout, a.index, slot, generation);
        for (uint32_t j = 0; j < shape.segments; j++)
            write_packet(a, *packet++,
                         {message_kind::request, a.workload, a.index, slot, generation,
                          static_cast<uint16_t>(j), static_cast<uint16_t>(shape.segments)},
                         from + size_t{j} * shape.segment_body, segment_body_bytes(shape, j), link,
                         copies_of(call));
    }
    if (s.open_loop) record_pacing(s, count, now, call);
    call.stats->sent += count;
    return static_cast<uint32_t>(packet - a.out.packets.data());
}

}  // namespace

call_result app_tx_copying(void *role, const stage_call &call) {
    application &a = *static_cast<application *>(role);
    const bool makes = wants_packets(copying_of(a)) && may_send(a);
    if (!makes && copying_of(a).pending.count() == 0) return {0};
    const copying_call begun = begin_copying(a, a.batch_tx, call);
    bool lacks = false;
    const bool made = makes && make_packets(a, begun.now, &lacks, call) > 0;
    const call_result result = end_copying(a, begun, a.batch_tx, made, lacks, call);
    call.stats->unmoved_calls += result.worked && result.objects == 0;
    return result;
}

}  // namespace wt
