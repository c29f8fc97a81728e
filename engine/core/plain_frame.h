// The most common frame, recognised in a few compares: UDP over IPv4 without options, whole, ours, both
// checksums right.
//
// Other frames go to frame_parse(), which accepts those that are right all the same, and names what
// is wrong.
#pragma once

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_ip.h>

#include "core/checksum.h"
#include "core/frame.h"

namespace wt {

using bytes_as_words = uint64_t __attribute__((vector_size(16)));

// Sixteen bytes of a frame, of which those that the mask leaves must be as expected.
struct plain_part {
    alignas(16) uint8_t expected[16];
    alignas(16) uint8_t mask[16];
};

// What a plain frame for one queue holds, as it stands in the frame.
struct plain_match {
    plain_part start;  // from the first byte: destination MAC, type, version and header length
    plain_part flow;   // from the time to live: protocol, destination IP address, destination port
};

inline plain_match plain_match_of(const local_address &us) {
    plain_match m{};
    const auto expect = [](plain_part &part, uint32_t at, auto value) {
        std::memcpy(part.expected + at, &value, sizeof value);
        std::memset(part.mask + at, 0xff, sizeof value);
    };
    expect(m.start, 0, us.mac);
    expect(m.start, offset::type, static_cast<uint16_t>(RTE_BE16(0x0800)));
    expect(m.start, offset::ip, static_cast<uint8_t>(RTE_IPV4_VHL_DEF));
    expect(m.flow, offset::protocol - offset::time_to_live, static_cast<uint8_t>(IPPROTO_UDP));
    expect(m.flow, offset::destination_ip - offset::time_to_live, rte_cpu_to_be_32(us.ip));
    expect(m.flow, offset::destination_port - offset::time_to_live,
           rte_cpu_to_be_16(static_cast<uint16_t>(us.first_port + us.queue)));
    return m;
}

// The bits in which 16 bytes of a frame are not as expected.
inline bytes_as_words plain_difference(const uint8_t *at, const plain_part &part) {
    return (load<bytes_as_words>(at) ^ load<bytes_as_words>(part.expected)) & load<bytes_as_words>(part.mask);
}

// Whose checksums are known to hold.
enum class known_sums : uint8_t { none, udp, both };

// The UDP payload's bytes, at least `least`, or 0 where the frame is not plain or has less. The payload
// stands at frame_header_bytes. `least` is at least 1.
template <known_sums known = known_sums::none>
inline uint32_t plain_payload_bytes(const uint8_t *frame, uint32_t bytes, const plain_match &us,
                                    uint32_t least) {
    // words as little-endian loads see them (checksum.h has asserted that they are)
    constexpr uint16_t fragment_mask = RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK);
    constexpr uint16_t udp_protocol = RTE_BE16(IPPROTO_UDP);  // of the pseudo-header
    if (unlikely(bytes < frame_header_bytes + least)) return 0;
    const bytes_as_words difference =
        plain_difference(frame, us.start) | plain_difference(frame + offset::time_to_live, us.flow);
    const uint64_t fragment = load<uint16_t>(frame + offset::fragment) & fragment_mask;
    if (unlikely((difference[0] | difference[1] | fragment) != 0)) return 0;

    const auto udp_field = load<uint16_t>(frame + offset::udp_length);
    const uint32_t ip_bytes = rte_be_to_cpu_16(load<uint16_t>(frame + offset::ip_length));
    const uint32_t udp_bytes = rte_be_to_cpu_16(udp_field);
    const uint32_t udp_header_bytes = frame_header_bytes - offset::udp, udp_offset = offset::udp - offset::ip;
    if (unlikely(ip_bytes != udp_bytes + udp_offset || ip_bytes > bytes - offset::ip ||
                 udp_bytes < udp_header_bytes + least))
        return 0;

    if constexpr (known == known_sums::both) return udp_bytes - udp_header_bytes;
    const auto addresses = load<uint64_t>(frame + offset::addresses);
    const uint64_t ip_sum =
        checksum_add(checksum_add(addresses, load<uint32_t>(frame + offset::time_to_live)),
                     load<uint64_t>(frame + offset::ip));
    uint16_t both = checksum_fold(ip_sum);
    if (known == known_sums::none && likely(load<uint16_t>(frame + offset::udp_checksum) != 0))  // 0: none
        both &= checksum_fold(checksum_bytes(checksum_add(addresses, uint64_t{udp_field} + udp_protocol),
                                             frame + offset::udp, udp_bytes));
    return both == 0xffff ? udp_bytes - udp_header_bytes : 0;
}

}  // namespace wt
