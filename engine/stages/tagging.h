// Tags of a VLAN on the way to a port and from it: what nic_tx and nic_rx do where the endpoint is in one.
#pragma once

#include "core/packet.h"
#include "core/vlan.h"
#include "stages/port_queue.h"

namespace wt {

// The tag stands where the addresses end, and these move. Applications leave room for it, and so does who
// shows headroom to a handler.
inline void add_tag(rte_mbuf *m, uint32_t tag) {
    const uint8_t *const from = frame_of(m);
    const auto first = load<uint64_t>(from);
    const auto rest = load<uint32_t>(from + sizeof first);
    m->data_off = static_cast<uint16_t>(m->data_off - vlan_tag_bytes);
    m->data_len = static_cast<uint16_t>(m->data_len + vlan_tag_bytes);
    m->pkt_len += vlan_tag_bytes;
    uint8_t *const to = frame_of(m);
    store(to, first);
    store(to + sizeof first, rest);
    store(to + vlan_tag_offset, tag);
}

inline void add_tags(const port_queue &q, rte_mbuf **packets, uint32_t count, const stage_call &call) {
    for (uint32_t i = 0; i < count; i++) add_tag(packets[i], q.tag);
    count_tx_bytes(q, uint64_t{count} * vlan_tag_bytes, call);
}

inline void remove_tag(rte_mbuf *m) {
    const uint8_t *const from = frame_of(m);
    const auto first = load<uint64_t>(from);
    const auto rest = load<uint32_t>(from + sizeof first);
    m->data_off = static_cast<uint16_t>(m->data_off + vlan_tag_bytes);
    m->data_len = static_cast<uint16_t>(m->data_len - vlan_tag_bytes);
    m->pkt_len -= vlan_tag_bytes;
    uint8_t *const to = frame_of(m);
    store(to, first);
    store(to + sizeof first, rest);
}

// Takes our VLAN's tag off the frame. False: *why it is not in our VLAN. A driver may have taken a tag off by
// itself: the mbuf says so.
inline bool take_tag(rte_mbuf *m, uint32_t tag, drop *why) {
    constexpr uint32_t least = vlan_tag_offset + 2;
    const uint32_t ours = tag & rte_cpu_to_be_32(uint32_t{UINT16_MAX} << 16 | vlan_id_mask);
    if (m->data_len < least) return *why = drop::runt, false;
    const uint32_t tags = vlan_tags_in(frame_of(m), m->data_len);
    const bool stripped = m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED;
    if (tags + stripped > 1) return *why = drop::double_tagged, false;
    if (tags + stripped == 0) return *why = drop::untagged, false;
    if (stripped) {
        const bool same = (m->vlan_tci & vlan_id_mask) == (rte_be_to_cpu_32(tag) & vlan_id_mask);
        return *why = drop::other_vlan, same;
    }
    if (m->data_len < least + vlan_tag_bytes) return *why = drop::runt, false;
    const auto theirs = load<uint32_t>(frame_of(m) + vlan_tag_offset);
    if ((theirs & rte_cpu_to_be_32(uint32_t{UINT16_MAX} << 16 | vlan_id_mask)) != ours)
        return *why = drop::other_vlan, false;
    return remove_tag(m), true;
}

// Takes the tags off a received burst and drops what is not in our VLAN. Returns how many are left.
inline uint32_t take_tags(const port_queue &q, rte_mbuf **packets, uint32_t count, const stage_call &call) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        rte_mbuf *const m = packets[i];
        const uint32_t bytes = m->pkt_len;
        drop why;
        if (likely(take_tag(m, q.tag, &why))) {
            call.stats->rx_bytes += bytes - m->pkt_len;  // disp_rx counts the rest
            packets[left++] = m;
        } else {
            call.stats->rx_bytes += bytes;
            drop_packet(m, why, call);
        }
    }
    return left;
}

}  // namespace wt
