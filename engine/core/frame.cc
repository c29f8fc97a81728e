#include "core/frame.h"

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>

#include "core/checksum.h"
#include "core/vlan.h"

namespace wt {
namespace {

static_assert(offset::udp == offset::ip + ipv4_header_bytes &&
              offset::udp + udp_header_bytes == frame_header_bytes);
// From the UDP header's first byte: IPv4 options may stand before it.
constexpr uint32_t at_destination_port = 2, at_udp_length = 4, at_udp_checksum = 6;

constexpr uint16_t fragment_mask = RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK);

bool same_mac(const uint8_t *at, const mac_address &mac) {
    return load<uint32_t>(at) == load<uint32_t>(mac.bytes) &&
           load<uint16_t>(at + 4) == load<uint16_t>(mac.bytes + 4);
}

// Of a frame with an ethertype that is neither IPv4's nor ARP's.
drop why_not_ipv4(const uint8_t *frame, uint32_t bytes) {
    constexpr drop by_tags[] = {drop::not_ipv4, drop::tagged, drop::double_tagged};
    return by_tags[vlan_tags_in(frame, bytes)];
}

}  // namespace

void frame_cut_options(uint8_t *frame, const parsed_frame &parsed) {
    if (likely(parsed.payload_offset == frame_header_bytes)) return;
    std::memmove(frame + offset::udp, frame + parsed.payload_offset - udp_header_bytes,
                 udp_header_bytes + parsed.payload_bytes);
    frame[offset::ip] = RTE_IPV4_VHL_DEF;
}

parse_result frame_parse(const uint8_t *frame, uint32_t bytes, const local_address &us, parsed_frame *out,
                         drop *why) {
    const auto dropped = [why](drop reason) {
        *why = reason;
        return parse_result::dropped;
    };

    if (unlikely(bytes < offset::ip)) return dropped(drop::runt);
    const auto type = load<uint16_t>(frame + offset::type);
    if (unlikely(type != RTE_BE16(RTE_ETHER_TYPE_IPV4))) {
        constexpr mac_address broadcast = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
        if (type != RTE_BE16(RTE_ETHER_TYPE_ARP)) return dropped(why_not_ipv4(frame, bytes));
        if (!same_mac(frame, us.mac) && !same_mac(frame, broadcast)) return dropped(drop::not_for_us);
        return parse_result::control;
    }
    // A broadcast never carries what is meant for one address (RFC 1122, 3.3.6).
    if (unlikely(!same_mac(frame, us.mac))) return dropped(drop::not_for_us);

    if (unlikely(bytes < offset::udp)) return dropped(drop::runt);
    const uint32_t header_bytes = (frame[offset::ip] & RTE_IPV4_HDR_IHL_MASK) * RTE_IPV4_IHL_MULTIPLIER;
    const uint32_t ip_bytes = rte_be_to_cpu_16(load<uint16_t>(frame + offset::ip_length));
    if (unlikely(frame[offset::ip] >> 4 != IPVERSION || header_bytes < ipv4_header_bytes ||
                 ip_bytes < header_bytes))
        return dropped(drop::bad_ip_header);
    if (unlikely(ip_bytes > bytes - offset::ip)) return dropped(drop::runt);

    const auto addresses = load<uint64_t>(frame + offset::addresses);
    uint64_t ip_sum = checksum_add(addresses, load<uint32_t>(frame + offset::time_to_live));
    ip_sum = checksum_add(ip_sum, load<uint64_t>(frame + offset::ip));
    if (unlikely(header_bytes != ipv4_header_bytes))
        ip_sum = checksum_bytes(ip_sum, frame + offset::udp, header_bytes - ipv4_header_bytes);
    if (unlikely(checksum_fold(ip_sum) != 0xffff)) return dropped(drop::bad_ip_checksum);

    if (unlikely(load<uint32_t>(frame + offset::destination_ip) != rte_cpu_to_be_32(us.ip)))
        return dropped(drop::not_for_us);
    if (unlikely((load<uint16_t>(frame + offset::fragment) & fragment_mask) != 0))
        return dropped(drop::ip_fragment);
    if (unlikely(frame[offset::protocol] != IPPROTO_UDP)) {
        if (frame[offset::protocol] == IPPROTO_ICMP) return parse_result::control;
        return dropped(drop::not_udp);
    }

    const uint8_t *const udp = frame + offset::ip + header_bytes;
    const uint32_t room = ip_bytes - header_bytes;
    if (unlikely(room < udp_header_bytes)) return dropped(drop::bad_udp_length);
    const auto udp_length = load<uint16_t>(udp + at_udp_length);
    const uint32_t udp_bytes = rte_be_to_cpu_16(udp_length);
    if (unlikely(udp_bytes < udp_header_bytes || udp_bytes > room)) return dropped(drop::bad_udp_length);
    if (likely(load<uint16_t>(udp + at_udp_checksum) != 0)) {
        const uint64_t sum = checksum_add(addresses, uint64_t{frame_udp_protocol} + udp_length);
        if (unlikely(checksum_fold(checksum_bytes(sum, udp, udp_bytes)) != 0xffff))
            return dropped(drop::bad_udp_checksum);
    }

    const auto queue =
        static_cast<uint16_t>(rte_be_to_cpu_16(load<uint16_t>(udp + at_destination_port)) - us.first_port);
    if (unlikely(queue != us.queue))
        return dropped(queue < us.queues ? drop::misdirected : drop::unknown_port);
    out->payload_offset = offset::ip + header_bytes + udp_header_bytes;
    out->payload_bytes = udp_bytes - udp_header_bytes;
    return parse_result::udp;
}

}  // namespace wt
