// Ethernet/IPv6/UDP frames, without extension headers: what frame.h and frame_write.h are for IPv4.
//
// Its headers are 20 bytes longer. They begin so much ahead of where those of IPv4 would, so that a message
// stands at one offset for applications, whatever carries it (core/packet.h).
#pragma once

#include <rte_branch_prediction.h>

#include "core/frame_write.h"

namespace wt {

constexpr uint32_t ipv6_more_bytes = 20;  // of a header, beside IPv4's
constexpr uint32_t frame_ipv6_header_bytes = frame_header_bytes + ipv6_more_bytes;
constexpr uint32_t ipv6_udp_header_bytes = ip_udp_header_bytes + ipv6_more_bytes;
static_assert(sizeof(frame_template::header) == frame_ipv6_header_bytes);

// What the MTU of an endpoint with this address holds beside the UDP payload.
constexpr uint32_t ip_udp_bytes(const ip_address &ip) {
    return ip.is_v6 ? ipv6_udp_header_bytes : ip_udp_header_bytes;
}

// From a frame's first byte.
namespace offset_ipv6 {
constexpr uint32_t ip = 14, payload_length = 18, next_header = 20, hop_limit = 21, addresses = 22,
                   destination_ip = 38, udp = 54, destination_port = 56, udp_length = 58, udp_checksum = 60;
}

frame_template frame_ipv6_prepare(const flow &f);
void frame_ipv6_resize(frame_template &t, uint32_t payload_bytes);

// As frame_parse(). A UDP checksum of 0 is wrong (RFC 8200, 8.1).
parse_result frame_ipv6_parse(const uint8_t *frame, uint32_t bytes, const local_address &us,
                              parsed_frame *out, drop *why);

// The group that is asked for the MAC of an address (RFC 4291, 2.7.1), and its own MAC (RFC 2464, 7).
ipv6_address solicited_group_of(const ipv6_address &ip);
mac_address group_mac_of(const ipv6_address &group);

inline void frame_ipv6_write_checksum(uint8_t *frame, uint64_t udp_sum, uint32_t payload_bytes) {
    const uint16_t field =
        checksum_field(checksum_bytes(udp_sum, frame + frame_ipv6_header_bytes, payload_bytes));
    store<uint16_t>(frame + offset_ipv6::udp_checksum, field == 0 ? 0xffff : field);
}

// Writes the headers for `payload_bytes` of UDP payload that already stands behind them.
inline void frame_ipv6_write(uint8_t *frame, frame_template &t, uint32_t payload_bytes) {
    if (unlikely(payload_bytes != t.payload_bytes)) frame_ipv6_resize(t, payload_bytes);
    std::memcpy(frame, t.header, sizeof t.header);
    frame_ipv6_write_checksum(frame, t.udp_sum, payload_bytes);
}

// Turns the headers of a request around for a response of `payload_bytes` that already stands behind them.
inline void frame_ipv6_turn(uint8_t *frame, uint32_t payload_bytes) {
    const auto start = load<bytes16>(frame);
    store(frame, __builtin_shufflevector(start, start, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 12, 13, 14, 15));
    const uint16_t length = rte_cpu_to_be_16(static_cast<uint16_t>(8 + payload_bytes));
    constexpr uint64_t next_and_hops = uint64_t{IPPROTO_UDP} << 48 | uint64_t{frame_time_to_live} << 56;
    store(frame + offset_ipv6::ip, uint64_t{0x60} | uint64_t{length} << 32 | next_and_hops);

    const auto source = load<bytes16>(frame + offset_ipv6::addresses);
    const auto destination = load<bytes16>(frame + offset_ipv6::destination_ip);
    store(frame + offset_ipv6::addresses, destination);
    store(frame + offset_ipv6::destination_ip, source);
    store(frame + offset_ipv6::udp, std::rotl(load<uint32_t>(frame + offset_ipv6::udp), 16));
    store(frame + offset_ipv6::udp_length, uint32_t{length});  // the checksum is 0
    // The length counts twice: in the pseudo-header and in the UDP header.
    const uint64_t sum = checksum_bytes(uint64_t{frame_udp_protocol} + length, frame + offset_ipv6::addresses,
                                        frame_ipv6_header_bytes - offset_ipv6::addresses);
    frame_ipv6_write_checksum(frame, sum, payload_bytes);
}

}  // namespace wt
