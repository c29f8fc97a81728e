// Where a message is in an mbuf, and small operations on mbufs that several stages need.
#pragma once

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <cstring>

#include "core/frame_ipv6.h"
#include "core/message.h"
#include "core/stage.h"

namespace wt {

constexpr uint32_t message_offset = frame_header_bytes;                      // of the message header
constexpr uint32_t body_offset = frame_header_bytes + message_header_bytes;  // of the message's body

inline uint8_t *frame_of(rte_mbuf *m) { return rte_pktmbuf_mtod(m, uint8_t *); }

inline uint8_t *message_of(rte_mbuf *m) { return rte_pktmbuf_mtod_offset(m, uint8_t *, message_offset); }

// IPv6's longer header begins ahead of where IPv4's would.
inline uint8_t *ipv6_frame_of(rte_mbuf *m) { return frame_of(m) - ipv6_more_bytes; }

inline void set_length(rte_mbuf *m, uint32_t bytes) {
    m->data_len = static_cast<uint16_t>(bytes);
    m->pkt_len = bytes;
}

// From a message with headers of IPv4, or the room for them, to a frame of IPv6.
inline void widen_to_ipv6(rte_mbuf *m) {
    m->data_off = static_cast<uint16_t>(m->data_off - ipv6_more_bytes);
    set_length(m, m->pkt_len + ipv6_more_bytes);
}

// The way back: a received frame of IPv6 with so many bytes of UDP payload.
inline void narrow_from_ipv6(rte_mbuf *m, uint32_t payload_bytes) {
    m->data_off = static_cast<uint16_t>(m->data_off + ipv6_more_bytes);
    set_length(m, frame_header_bytes + payload_bytes);
}

inline void drop_packet(rte_mbuf *m, drop why, const stage_call &call) {
    count_drop(call, why);
    rte_pktmbuf_free(m);
}

// Pads a frame to the 60 bytes that Ethernet requires. A NIC pads by itself; software ports do not.
inline void pad_frame(rte_mbuf *m) {
    if (likely(m->pkt_len >= frame_min_bytes)) return;
    const uint32_t missing = frame_min_bytes - m->pkt_len;
    std::memset(rte_pktmbuf_mtod_offset(m, uint8_t *, m->pkt_len), 0, missing);
    m->data_len = static_cast<uint16_t>(m->data_len + missing);
    m->pkt_len += missing;
}

}  // namespace wt
