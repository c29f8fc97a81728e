#include "control/control.h"

#include <cstring>

#include "control/responder.h"
#include "control/responder_ipv6.h"
#include "core/checksum.h"
#include "core/packet.h"

namespace wt {

namespace {

// Appends the reply in `m`, `bytes` long, to `back`.
void put_back(rte_mbuf *m, uint32_t bytes, return_burst &back) {
    set_length(m, bytes);
    back.to[back.count++] = m;
}

// A reply to our question for the peer's MAC, on a client.
bool learn_peer(control_plane &c, const uint8_t *frame, uint32_t bytes) {
    mac_address mac;
    if (c.resolver == nullptr) return false;
    if (c.frames == framing::ipv6 ? !advertisement_read(frame, c.peer_ipv6, &mac)
                                  : !arp_reply_read(frame, bytes, c.peer_ip, &mac))
        return false;
    uint64_t known = uint64_t{1} << 63;
    std::memcpy(&known, mac.bytes, sizeof mac.bytes);
    c.resolver->response.store(known, std::memory_order_release);
    return true;
}

// Whether a reply of so many bytes has room in the mbuf of what it replies to, and in the burst.
bool has_room(const rte_mbuf *m, uint32_t bytes, const return_burst &back) {
    return back.count < back.room && m->buf_len - m->data_off >= static_cast<int>(bytes);
}

rte_mbuf *new_frame(rte_mempool *pool, uint32_t bytes) {
    rte_mbuf *m = rte_pktmbuf_alloc(pool);
    if (m != nullptr) rte_pktmbuf_append(m, static_cast<uint16_t>(bytes));
    return m;
}

}  // namespace

void control_receive(control_plane &c, rte_mbuf *m, return_burst &back, const stage_call &call) {
    if (learn_peer(c, frame_of(m), m->data_len)) return rte_pktmbuf_free(m);
    if (unlikely(!has_room(m, neighbour_frame_bytes, back))) return drop_packet(m, drop::reply_no_room, call);
    drop why;
    const uint32_t bytes = c.frames == framing::ipv6 ? respond_ipv6(frame_of(m), c.us, &why)
                                                     : respond(frame_of(m), m->data_len, c.us, &why);
    if (bytes == 0) return drop_packet(m, why, call);
    put_back(m, bytes, back);
    pad_frame(m);
}

// The server's response leaves in the mbuf of the client's hello.
void control_receive_hello(control_plane &c, rte_mbuf *m, return_burst &back, const stage_call &call) {
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
    if (!has_room(m, bytes, back)) return drop_packet(m, drop::reply_no_room, call);
    if (!handshake_respond(*c.handshake, &h, &why)) return drop_packet(m, why, call);
    if (is_refusal(h.status)) count_drop(call, drop::refused_hello);  // its mbuf continues as the response
    hello_write(payload, h);
    put_back(m, bytes, back);
    if (c.frames == framing::ipv4) frame_turn(frame_of(m), hello_bytes);
    if (c.frames != framing::ipv6) return;
    widen_to_ipv6(m);
    frame_ipv6_turn(frame_of(m), hello_bytes);
}

uint32_t control_send(control_plane &c, rte_mbuf **to, uint32_t room, rte_mempool *pool,
                      frame_template &headers) {
    uint32_t count = 0;
    if (c.resolver->ask.load(std::memory_order_relaxed) && count < room) {
        const bool ipv6 = c.frames == framing::ipv6;
        if (rte_mbuf *m = new_frame(pool, ipv6 ? neighbour_frame_bytes : frame_min_bytes)) {
            if (ipv6)
                solicitation_write(frame_of(m), c.us, c.peer_ipv6);
            else
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
        if (c.frames == framing::ipv4) frame_write(frame_of(m), headers, hello_bytes);
        if (c.frames == framing::ipv6) {
            widen_to_ipv6(m);
            frame_ipv6_write(frame_of(m), headers, hello_bytes);
        }
        c.hello_round = round;
        c.handshake->sent.fetch_add(1, std::memory_order_relaxed);
        to[count++] = m;
    }
    return count;
}

}  // namespace wt
