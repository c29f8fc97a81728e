// Headers of outgoing frames: Ethernet, IPv4 without options, UDP, all lengths and checksums (RFC 791, RFC
// 768) right.
//
// Inline, because the call and what it saves and restores would cost a quarter of the work.
#pragma once

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_ip.h>

#include "core/checksum.h"
#include "core/frame.h"

namespace wt {

using bytes16 = uint8_t __attribute__((vector_size(16)));

// Frames are never cut on their way, so that the identification may stay 0 (RFC 6864).
constexpr uint16_t frame_dont_fragment = RTE_BE16(RTE_IPV4_HDR_DF_FLAG);
constexpr uint16_t frame_time_and_udp = RTE_BE16(frame_time_to_live << 8 | IPPROTO_UDP);

// Headers of one flow for payloads of one length, which the last frame had: the next one is likely to have it
// too.
struct frame_template {
    uint64_t udp_sum;  // of the pseudo-header and the UDP header
    uint32_t payload_bytes;
    uint8_t header[frame_header_bytes + 20];  // the UDP checksum is 0; the last 20 are IPv6's (frame_ipv6.h)
};

frame_template frame_prepare(const flow &f);

// What a frame says of its UDP checksum: all of it, or 0 for "none", which RFC 768 allows over IPv4.
enum class udp_checksum : bool { none, whole };

// Makes the template one for payloads of `payload_bytes`, at most 65535 - ip_udp_header_bytes.
void frame_resize(frame_template &t, uint32_t payload_bytes);

// A UDP checksum of 0 would say "none" (RFC 768).
inline void frame_write_udp_checksum(uint8_t *frame, uint64_t udp_sum, uint32_t payload_bytes) {
    const uint16_t field = checksum_field(checksum_bytes(udp_sum, frame + frame_header_bytes, payload_bytes));
    store<uint16_t>(frame + offset::udp_checksum, field == 0 ? 0xffff : field);
}

// Writes the headers for `payload_bytes` of UDP payload that already stands behind them.
template <udp_checksum checksum = udp_checksum::whole>
inline void frame_write(uint8_t *frame, frame_template &t, uint32_t payload_bytes) {
    if (unlikely(payload_bytes != t.payload_bytes)) frame_resize(t, payload_bytes);
    std::memcpy(frame, t.header, frame_header_bytes);
    if constexpr (checksum == udp_checksum::whole) frame_write_udp_checksum(frame, t.udp_sum, payload_bytes);
}

// Turns the headers of a request around (addresses and ports swapped, TTL renewed) for a response of
// `payload_bytes` that already stands behind them. The request is a frame that frame_parse called `udp`,
// without IP options.
template <udp_checksum checksum = udp_checksum::whole>
inline void frame_turn(uint8_t *frame, uint32_t payload_bytes) {
    // MAC addresses change places, and the type of service (byte 15) becomes 0.
    constexpr bytes16 zero{};
    const auto start = load<bytes16>(frame);
    store(frame, __builtin_shufflevector(start, zero, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 12, 13, 14, 16));

    // Everything from the total length to the protocol; the identification is 0.
    const uint16_t ip_length = rte_cpu_to_be_16(static_cast<uint16_t>(ip_udp_header_bytes + payload_bytes));
    constexpr uint64_t middle = uint64_t{frame_dont_fragment} << 32 | uint64_t{frame_time_and_udp} << 48;
    store(frame + offset::ip_length, middle | ip_length);

    // IP addresses and ports change places: one shuffle of 16 bytes. Sums do not change when their words do.
    const auto addresses = load<uint64_t>(frame + offset::addresses);
    const auto ports = load<uint32_t>(frame + offset::udp);
    const auto flow = load<bytes16>(frame + offset::addresses);
    store(frame + offset::addresses,
          __builtin_shufflevector(flow, flow, 4, 5, 6, 7, 0, 1, 2, 3, 10, 11, 8, 9, 12, 13, 14, 15));

    constexpr uint64_t fixed = uint64_t{RTE_IPV4_VHL_DEF} + frame_dont_fragment + frame_time_and_udp;
    store(frame + offset::ip_checksum, checksum_field(checksum_add(addresses, fixed + ip_length)));

    // The length counts twice: in the pseudo-header and in the UDP header.
    const uint16_t udp_length =
        rte_cpu_to_be_16(static_cast<uint16_t>(ip_udp_header_bytes - 20 + payload_bytes));
    store(frame + offset::udp_length, udp_length);
    if constexpr (checksum == udp_checksum::none) return store<uint16_t>(frame + offset::udp_checksum, 0);
    const uint64_t udp_sum =
        checksum_add(addresses, uint64_t{ports} + frame_udp_protocol + 2 * uint64_t{udp_length});
    frame_write_udp_checksum(frame, udp_sum, payload_bytes);
}

}  // namespace wt
