#include "control/control.h"

#include <rte_ether.h>

#include <cstring>

#include "control/responder.h"
#include "core/checksum.h"
#include "core/packet.h"

namespace wt {

namespace {

// Appends the reply in `m`, `bytes` long, to `back`.
void put_back(rte_mbuf *m, uint32_t bytes, return_burst &back) {
    set_length(m, bytes);
    back.to[back.count++] = m;
}

void put_frame_back(rte_mbuf *m, uint32_t bytes, return_burst &back) {
    put_back(m, bytes, back);
    pad_frame(m);
}

// An ARP reply that we asked for, on a client.
bool learn_peer(control_plane &c, const uint8_t *frame, uint32_t bytes) {
    mac_address mac;
    if (c.resolver == nullptr || !arp_reply_read(frame, bytes, c.peer_ip, &mac)) return false;
    uint64_t known = uint64_t{1} << 63;
    std::memcpy(&known, mac.bytes, sizeof mac.bytes);
    c.resolver->response.store(known, std::memory_order_release);
    return true;
}

void receive_arp_icmp(control_plane &c, rte_mbuf *m, return_burst &back, const stage_call &call) {
    if (learn_peer(c, frame_of(m), m->data_len)) return rte_pktmbuf_free(m);
    if (unlikely(back.count == back.room)) return drop_packet(m, drop::reply_no_room, call);
    drop why;
    const uint32_t bytes = respond(frame_of(m), m->data_len, c.us, &why);
    if (bytes == 0) return drop_packet(m, why, call);
    put_frame_back(m, bytes, back);
}

// The server's response leaves in the mbuf of the client's hello.
void receive_hello(control_plane &c, rte_mbuf *m, return_burst &back, const stage_call &call) {
    uint8_t *const payload = message_of(m);
    hello h;
    drop why;
    if (!hello_read(payload, m->data_len - frame_header_bytes, &h))
        return drop_packet(m, drop::bad_hello, call);
    if (c.side == side::client) {
        if (!handshake_take_response(*c.handshake, h, &why)) return drop_packet(m, why, call);
        return rte_pktmbuf_free(m);
    }
    const uint32_t bytes = frame_header_bytes + hello_bytes;
    if (back.count == back.room || m->buf_len - m->data_off < static_cast<int>(bytes))
        return drop_packet(m, drop::reply_no_room, call);
    if (!handshake_respond(*c.handshake, &h, &why)) return drop_packet(m, why, call);
    if (is_refusal(h.status)) count_drop(call, drop::refused_hello);  // its mbuf continues as the response
    hello_write(payload, h);
    if (!c.framed) return put_back(m, bytes, back);
    frame_turn(frame_of(m), hello_bytes);
    put_frame_back(m, bytes, back);
}

rte_mbuf *new_frame(rte_mempool *pool, uint32_t bytes) {
    rte_mbuf *m = rte_pktmbuf_alloc(pool);
    if (m != nullptr) rte_pktmbuf_append(m, static_cast<uint16_t>(bytes));
    return m;
}

}  // namespace

void control_receive(control_plane &c, rte_mbuf *m, return_burst &back, const stage_call &call) {
    if (!c.framed) return receive_hello(c, m, back, call);
    const uint8_t *frame = frame_of(m);
    const bool is_udp = load<uint16_t>(frame + offset::type) == RTE_BE16(RTE_ETHER_TYPE_IPV4) &&
                        frame[offset::protocol] == IPPROTO_UDP;
    is_udp ? receive_hello(c, m, back, call) : receive_arp_icmp(c, m, back, call);
}

uint32_t control_send(control_plane &c, rte_mbuf **to, uint32_t room, rte_mempool *pool,
                      frame_template &headers) {
    uint32_t count = 0;
    if (c.resolver->ask.load(std::memory_order_relaxed) && count < room) {
        if (rte_mbuf *m = new_frame(pool, frame_min_bytes)) {
            arp_request_write(frame_of(m), c.us.mac, c.us.ip, c.peer_ip);
            c.resolver->ask.store(false, std::memory_order_relaxed);
            to[count++] = m;
        }
    }
    if (c.handshake == nullptr || count == room) return count;
    const uint32_t round = c.handshake->round.load(std::memory_order_acquire);
    if (round == c.hello_round || handshake_over(*c.handshake)) return count;
    if (rte_mbuf *m = new_frame(pool, frame_header_bytes + hello_bytes)) {
        hello_write(message_of(m), handshake_hello(*c.handshake));
        if (c.framed) frame_write(frame_of(m), headers, hello_bytes);
        c.hello_round = round;
        c.handshake->sent.fetch_add(1, std::memory_order_relaxed);
        to[count++] = m;
    }
    return count;
}

}  // namespace wt
