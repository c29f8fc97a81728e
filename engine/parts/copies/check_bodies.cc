// Checks of the bodies that arrive: of requests against their source, by a server; of responses against what
// the handler says that they must be, by a client.
#include "core/inflight.h"
#include "core/packet.h"
#include "parts/copies/copying.h"
#include "stages/client_state.h"

namespace wt {

namespace {

// `offset`: of the checked bytes in the message's body.
void count_checked(checked_bodies &c, const message_header &h, uint32_t offset, wrong_bytes wrong) {
    c.packets++;
    if (likely(wrong.count == 0)) return;
    if (c.wrong_packets++ == 0) c.first = {h.slot, h.generation, offset + wrong.first, h.application};
    c.wrong_bytes += wrong.count;
}

void check_request(request_checking &c, rte_mbuf *m) {
    const message_header h = message_header_read(message_of(m));
    const uint64_t position = source_position(c.layout, h.application, h.slot, h.generation);
    const uint32_t offset = h.segment * c.segment_body;
    const wrong_bytes wrong = random_bytes_compare(c.layout.seed, position + offset,
                                                   rte_pktmbuf_mtod_offset(m, const uint8_t *, body_offset),
                                                   m->pkt_len - body_offset);
    count_checked(c.found, h, offset, wrong);
}

// Whether it belongs to a message that is in flight: of no other is known what was asked for.
bool is_in_flight(const inflight_table &t, const message_header &h) {
    return h.slot < t.slots.size() && (h.generation & 1) == 1 &&
           t.slots[h.slot].generation.load(std::memory_order_acquire) == h.generation;
}

}  // namespace

void check_requests(const application &a, rte_mbuf *const *packets, uint32_t count) {
    request_checking &c = *bodies_of(a).checking_requests;
    for (uint32_t i = 0; i < count; i++) check_request(c, packets[i]);
}

void check_responses(const application &a, rte_mbuf *const *packets, uint32_t count) {
    response_checking &c = *bodies_of(a).checking_responses;
    uint32_t checked = 0;
    for (uint32_t i = 0; i < count; i++) {
        rte_mbuf *const m = packets[i];
        const message_header h = message_header_read(message_of(m));
        if (!is_in_flight(*a.inflight, h)) continue;
        c.names[checked] = h;
        c.parts[checked++] = {rte_pktmbuf_mtod_offset(m, const uint8_t *, body_offset),
                              m->pkt_len - body_offset,
                              h.segment * a.response.segment_body,
                              c.requests[h.slot],
                              0,
                              0};
    }
    a.handler->check(a.handler_state, c.parts.data(), checked);
    for (uint32_t i = 0; i < checked; i++)
        count_checked(c.found, c.names[i], c.parts[i].position, {c.parts[i].wrong, c.parts[i].first});
}

void remember_requests(const application &a, uint32_t count) {
    const client_sending &s = *a.sending;
    rte_mbuf *const *packet = a.out.packets.data();
    for (uint32_t i = 0; i < count; i++) {
        const segmentation &shape = s.sizes ? s.shapes[i] : a.request;
        uint64_t &asked = bodies_of(a).checking_responses->requests[s.slots[i]] = 0;
        std::memcpy(&asked, rte_pktmbuf_mtod_offset(*packet, const uint8_t *, body_offset),
                    std::min<size_t>(sizeof asked, segment_body_bytes(shape, 0)));
        packet += shape.segments;
    }
}

}  // namespace wt
