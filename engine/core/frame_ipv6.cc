#include "core/frame_ipv6.h"

#include <rte_ether.h>

#include "core/vlan.h"

namespace wt {
namespace {

constexpr uint8_t hop_by_hop = 0, routing = 43, fragment = 44, authentication = 51, icmpv6 = 58,
                  destination_options = 60, mobility = 135, host_identity = 139, shim6 = 140;

bool same(const uint8_t *at, const auto &bytes) { return std::memcmp(at, &bytes, sizeof bytes) == 0; }

// Of a next header that is neither UDP nor ICMPv6.
drop why_not_udp(uint8_t next_header) {
    switch (next_header) {
        case fragment: return drop::ip_fragment;
        case hop_by_hop:
        case routing:
        case authentication:
        case destination_options:
        case mobility:
        case host_identity:
        case shim6: return drop::ip_extension;
        default: return drop::not_udp;
    }
}

// Headers of UDP and what is behind them; the IPv6 header is right and ours.
parse_result parse_udp(const uint8_t *frame, uint32_t room, const local_address &us, parsed_frame *out,
                       drop *why) {
    const auto dropped = [why](drop reason) {
        *why = reason;
        return parse_result::dropped;
    };
    const uint8_t *const udp = frame + offset_ipv6::udp;
    if (room < udp_header_bytes) return dropped(drop::bad_udp_length);
    const auto length = load<uint16_t>(frame + offset_ipv6::udp_length);
    const uint32_t udp_bytes = rte_be_to_cpu_16(length);
    if (udp_bytes < udp_header_bytes || udp_bytes > room) return dropped(drop::bad_udp_length);
    const uint64_t pseudo =
        checksum_bytes(uint64_t{frame_udp_protocol} + length, frame + offset_ipv6::addresses, 2 * 16);
    if (load<uint16_t>(frame + offset_ipv6::udp_checksum) == 0 ||
        checksum_fold(checksum_bytes(pseudo, udp, udp_bytes)) != 0xffff)
        return dropped(drop::bad_udp_checksum);
    const auto queue = static_cast<uint16_t>(
        rte_be_to_cpu_16(load<uint16_t>(frame + offset_ipv6::destination_port)) - us.first_port);
    if (queue != us.queue) return dropped(queue < us.queues ? drop::misdirected : drop::unknown_port);
    *out = {frame_ipv6_header_bytes, udp_bytes - udp_header_bytes};
    return parse_result::udp;
}

}  // namespace

ipv6_address solicited_group_of(const ipv6_address &ip) {
    return {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, ip[13], ip[14], ip[15]};
}

mac_address group_mac_of(const ipv6_address &group) {
    return {{0x33, 0x33, group[12], group[13], group[14], group[15]}};
}

frame_template frame_ipv6_prepare(const flow &f) {
    frame_template t{};
    uint8_t *const h = t.header;
    store(h, f.destination_mac);
    store(h + RTE_ETHER_ADDR_LEN, f.source_mac);
    store<uint16_t>(h + offset::type, RTE_BE16(RTE_ETHER_TYPE_IPV6));
    h[offset_ipv6::ip] = 0x60;
    h[offset_ipv6::next_header] = IPPROTO_UDP;
    h[offset_ipv6::hop_limit] = frame_time_to_live;
    store(h + offset_ipv6::addresses, f.source_ipv6);
    store(h + offset_ipv6::destination_ip, f.destination_ipv6);
    store(h + offset_ipv6::udp, rte_cpu_to_be_16(f.source_port));
    store(h + offset_ipv6::destination_port, rte_cpu_to_be_16(f.destination_port));
    frame_ipv6_resize(t, 0);
    return t;
}

void frame_ipv6_resize(frame_template &t, uint32_t payload_bytes) {
    const uint16_t length = rte_cpu_to_be_16(static_cast<uint16_t>(udp_header_bytes + payload_bytes));
    store(t.header + offset_ipv6::payload_length, length);
    store(t.header + offset_ipv6::udp_length, length);
    t.udp_sum = checksum_bytes(uint64_t{frame_udp_protocol} + length, t.header + offset_ipv6::addresses,
                               frame_ipv6_header_bytes - offset_ipv6::addresses);
    t.payload_bytes = payload_bytes;
}

parse_result frame_ipv6_parse(const uint8_t *frame, uint32_t bytes, const local_address &us,
                              parsed_frame *out, drop *why) {
    const auto dropped = [why](drop reason) {
        *why = reason;
        return parse_result::dropped;
    };
    if (bytes < offset_ipv6::ip) return dropped(drop::runt);
    if (load<uint16_t>(frame + offset::type) != RTE_BE16(RTE_ETHER_TYPE_IPV6)) {
        constexpr drop by_tags[] = {drop::not_ipv6, drop::tagged, drop::double_tagged};
        return dropped(by_tags[vlan_tags_in(frame, bytes)]);
    }
    const ipv6_address group = solicited_group_of(us.ipv6);
    const bool to_us = same(frame, us.mac), to_group = !to_us && same(frame, group_mac_of(group));
    if (!to_us && !to_group) return dropped(drop::not_for_us);
    if (bytes < offset_ipv6::udp) return dropped(drop::runt);
    if (frame[offset_ipv6::ip] >> 4 != 6) return dropped(drop::bad_ip_header);
    const uint32_t room = rte_be_to_cpu_16(load<uint16_t>(frame + offset_ipv6::payload_length));
    if (room > bytes - offset_ipv6::udp) return dropped(drop::runt);
    // Who asks for our MAC may use the group, and who knows it may ask whether it still holds.
    const bool ip_is_group = same(frame + offset_ipv6::destination_ip, group);
    if (!ip_is_group && !same(frame + offset_ipv6::destination_ip, us.ipv6)) return dropped(drop::not_for_us);
    const uint8_t next = frame[offset_ipv6::next_header];
    if (next == icmpv6) return parse_result::control;
    if (to_group || ip_is_group) return dropped(drop::not_for_us);
    if (next != IPPROTO_UDP) return dropped(why_not_udp(next));
    return parse_udp(frame, room, us, out, why);
}

}  // namespace wt
