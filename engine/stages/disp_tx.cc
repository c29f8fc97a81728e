// disp_tx: gathers the applications' packets, writes their headers, hands the burst to nic_tx.
#include <rte_prefetch.h>

#include "stages/roles.h"

namespace wt {

// Takes what the links offer, each in turn, until `room` is used.
static uint32_t gather(dispatcher &d, rte_mbuf **to, uint32_t room) {
    uint32_t count = 0;
    const uint32_t links = static_cast<uint32_t>(d.links.size());
    for (uint32_t i = 0; i < links && count < room; i++) {
        count += d.links[d.next_link]->to_dispatcher->take(to + count, room - count);
        if (++d.next_link == links) d.next_link = 0;
    }
    return count;
}

template <typename Write>
static call_result dispatch(dispatcher &d, uint32_t already, const stage_call &call, Write write_headers) {
    uint32_t room;
    rte_mbuf **packets = handover_room(*d.sending, &room);
    if (unlikely(room == 0)) {
        for (link *l : d.links)
            if (l->to_dispatcher->used() > 0) return {already, already == 0};
        return {already, false};
    }
    const uint32_t count = gather(d, packets, std::min(room, d.batch_tx - already));
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i + 4 < count) rte_prefetch0(rte_pktmbuf_mtod(packets[i + 4], void *));
        rte_mbuf *m = packets[i];
        write_headers(rte_pktmbuf_mtod(m, uint8_t *), m->pkt_len - frame_header_bytes);
        pad_frame(m);
        bytes += m->pkt_len;
    }
    if (count > 0) handover_put(*d.sending, count);
    count_tx_bytes(d, bytes, call);
    return {count + already, false};
}

// Puts an ARP request for the peer on the way, when main has asked for one.
static uint32_t ask_for_peer(dispatcher &d, const stage_call &call) {
    if (likely(!d.resolver->ask.load(std::memory_order_relaxed))) return 0;
    uint32_t room;
    rte_mbuf **to = handover_room(*d.sending, &room);
    rte_mbuf *m = room > 0 ? rte_pktmbuf_alloc(d.pool) : nullptr;
    if (m == nullptr) return 0;
    arp_request_write(reinterpret_cast<uint8_t *>(rte_pktmbuf_append(m, frame_min_bytes)), d.us.mac, d.us.ip, d.peer_ip);
    to[0] = m;
    handover_put(*d.sending, 1);
    count_tx_bytes(d, frame_min_bytes, call);
    d.resolver->ask.store(false, std::memory_order_relaxed);
    return 1;
}

// Says a word to the other host, when main has called a round.
static uint32_t speak(dispatcher &d, const stage_call &call) {
    if (likely(d.greeter == nullptr)) return 0;
    const uint32_t round = d.greeter->round.load(std::memory_order_acquire);
    if (likely(round == d.greeted)) return 0;
    uint32_t room;
    rte_mbuf **to = handover_room(*d.sending, &room);
    rte_mbuf *m = room > 0 ? rte_pktmbuf_alloc(d.pool) : nullptr;
    if (m == nullptr) return 0;
    auto *frame = reinterpret_cast<uint8_t *>(rte_pktmbuf_append(m, frame_header_bytes + hello_bytes));
    hello_write(frame + frame_header_bytes, greeter_word(*d.greeter));
    frame_write(frame, d.headers[1], hello_bytes);
    to[0] = m;
    handover_put(*d.sending, 1);
    count_tx_bytes(d, m->pkt_len, call);
    d.greeted = round;
    return 1;
}

template <udp_checksum checksum>
static call_result send_requests(dispatcher &d, const stage_call &call) {
    const uint32_t asked = ask_for_peer(d, call) + speak(d, call);
    auto &[full, other] = d.headers;
    return dispatch(d, asked, call, [&](uint8_t *frame, uint32_t payload) {
        frame_write<checksum>(frame, payload == full.payload_bytes ? full : other, payload);
    });
}

call_result disp_tx_client(void *role, const stage_call &call) {
    dispatcher &d = *static_cast<dispatcher *>(role);
    return d.checksum == udp_checksum::whole ? send_requests<udp_checksum::whole>(d, call) : send_requests<udp_checksum::none>(d, call);
}

// An answer carries the headers of its request.
template <udp_checksum checksum>
static call_result send_answers(dispatcher &d, const stage_call &call) {
    return dispatch(d, 0, call, [](uint8_t *frame, uint32_t payload) { frame_turn<checksum>(frame, payload); });
}

call_result disp_tx_server(void *role, const stage_call &call) {
    dispatcher &d = *static_cast<dispatcher *>(role);
    return d.checksum == udp_checksum::whole ? send_answers<udp_checksum::whole>(d, call) : send_answers<udp_checksum::none>(d, call);
}

}  // namespace wt
