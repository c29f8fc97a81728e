// The commonest frame of all, known in a dozen compares: UDP over IPv4 without options, whole, ours, both checksums right.
//
// What is not plain says nothing: frame_parse() looks again, takes what is right all the same, and names what is wrong.
#pragma once

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>

#include "core/checksum.h"
#include "core/frame.h"

namespace wt {

// What a plain frame for one queue holds, as it stands in the frame.
struct plain_match {
    uint64_t mac;   // destination, in the low 48 bits
    uint32_t ip;    // destination
    uint16_t port;  // destination
};

inline plain_match plain_match_of(const local_address &us) {
    plain_match m{};
    std::memcpy(&m.mac, us.mac.bytes, sizeof us.mac.bytes);
    m.ip = rte_cpu_to_be_32(us.ip);
    m.port = rte_cpu_to_be_16(static_cast<uint16_t>(us.first_port + us.queue));
    return m;
}

// The UDP payload's bytes, or 0 where the frame is not plain or has no payload. The payload stands at frame_header_bytes.
inline uint32_t plain_payload_bytes(const uint8_t *frame, uint32_t bytes, const plain_match &us) {
    // words as little-endian loads see them (checksum.h has asserted that they are)
    constexpr uint32_t ipv4_without_options = 0x450008, word24 = 0xffffff;
    constexpr uint32_t whole_udp = 0x11000000, fragment_and_protocol = 0xff00ff3f;
    constexpr uint16_t udp_protocol = 0x1100;  // 17 of the pseudo-header
    constexpr uint64_t mac_bytes = 0xffffffffffff;
    if (unlikely(bytes <= frame_header_bytes)) return 0;
    const auto addresses = load<uint64_t>(frame + 26);
    const bool ours = (load<uint64_t>(frame) & mac_bytes) == us.mac && addresses >> 32 == us.ip &&
                      load<uint16_t>(frame + 36) == us.port;
    const bool plain = (load<uint32_t>(frame + 12) & word24) == ipv4_without_options &&
                       (load<uint32_t>(frame + 20) & fragment_and_protocol) == whole_udp;
    if (unlikely(!ours || !plain)) return 0;

    const auto udp_field = load<uint16_t>(frame + 38);
    const uint32_t ip_bytes = rte_be_to_cpu_16(load<uint16_t>(frame + 16)), udp_bytes = rte_be_to_cpu_16(udp_field);
    if (unlikely(ip_bytes != udp_bytes + 20 || ip_bytes > bytes - 14 || udp_bytes <= 8 || load<uint16_t>(frame + 40) == 0))
        return 0;
    const uint64_t ip_sum =
        checksum_add(checksum_add(addresses, load<uint32_t>(frame + 22)), load<uint64_t>(frame + 14));
    const uint64_t udp_sum =
        checksum_bytes(checksum_add(addresses, uint64_t{udp_field} + udp_protocol), frame + 34, udp_bytes);
    return (checksum_fold(ip_sum) & checksum_fold(udp_sum)) == 0xffff ? udp_bytes - 8 : 0;
}

}  // namespace wt
