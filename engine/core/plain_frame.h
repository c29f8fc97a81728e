// The most common frame, recognised in a few compares: UDP over IPv4 without options, whole, ours, both
// checksums right.
//
// Other frames go to frame_parse(), which accepts those that are right all the same, and names what
// is wrong.
#pragma once

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_ip.h>

#include <algorithm>

#include "core/checksum.h"
#include "core/frame.h"

namespace wt {

using bytes_as_words = uint64_t __attribute__((vector_size(16)));

// Sixteen bytes of a frame, of which those that the mask leaves must be as expected.
struct plain_part {
    bytes_as_words expected, mask;
};

// What a plain frame for one queue holds, as it stands in the frame.
struct plain_match {
    uint64_t destination_mac;  // as the frame's first word has it
    plain_part ip;             // from byte ip_part: type, version and header length, fragments, protocol
    plain_part flow;           // from byte flow_part: destination IP address, destination port
};
constexpr uint32_t ip_part = 8, flow_part = 24;

inline plain_match plain_match_of(const local_address &us) {
    constexpr uint16_t no_fragment = 0,
                       fragment_bits = RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK);
    plain_match m{};
    const auto expect = [](plain_part &part, uint32_t at, auto value, decltype(value) bits) {
        std::memcpy(reinterpret_cast<uint8_t *>(&part.expected) + at, &value, sizeof value);
        std::memcpy(reinterpret_cast<uint8_t *>(&part.mask) + at, &bits, sizeof bits);
    };
    std::memcpy(&m.destination_mac, &us.mac, sizeof us.mac);
    expect(m.ip, offset::type - ip_part, uint16_t{RTE_BE16(0x0800)}, 0xffff);
    expect(m.ip, offset::ip - ip_part, uint8_t{RTE_IPV4_VHL_DEF}, 0xff);
    expect(m.ip, offset::fragment - ip_part, no_fragment, fragment_bits);
    expect(m.ip, offset::protocol - ip_part, uint8_t{IPPROTO_UDP}, 0xff);
    expect(m.flow, offset::destination_ip - flow_part, rte_cpu_to_be_32(us.ip), 0xffffffff);
    expect(m.flow, offset::destination_port - flow_part,
           rte_cpu_to_be_16(static_cast<uint16_t>(us.first_port + us.queue)), 0xffff);
    return m;
}

// The bits in which 16 bytes of a frame are not as expected.
inline bytes_as_words plain_difference(const uint8_t *at, const plain_part &part) {
    return (load<bytes_as_words>(at) ^ part.expected) & part.mask;
}

// Whether a frame has the addresses and the kind of a plain one. Its headers must be there.
inline bool plain_headers(const uint8_t *frame, const plain_match &us) {
    const bytes_as_words parts =
        plain_difference(frame + ip_part, us.ip) | plain_difference(frame + flow_part, us.flow);
    const uint64_t mac = (load<uint64_t>(frame) ^ us.destination_mac) << 16;
    return (parts[0] | parts[1] | mac) == 0;
}

// The UDP checksum of a frame whose IP packet has so many bytes: 0xffff if it is right, or if there is none.
inline uint16_t plain_udp_sum(const uint8_t *frame, uint32_t ip_bytes) {
    // words as little-endian loads see them (checksum.h has asserted that they are)
    constexpr uint16_t udp_protocol = RTE_BE16(IPPROTO_UDP);  // of the pseudo-header
    if (unlikely(load<uint16_t>(frame + offset::udp_checksum) == 0)) return 0xffff;
    const uint32_t udp_bytes = ip_bytes - (offset::udp - offset::ip);
    const uint64_t pseudo_header =
        uint64_t{rte_cpu_to_be_16(static_cast<uint16_t>(udp_bytes))} + udp_protocol;
    return checksum_fold(
        checksum_bytes(checksum_add(load<uint64_t>(frame + offset::addresses), pseudo_header),
                       frame + offset::udp, udp_bytes));
}

// Whose checksums are known to hold.
enum class known_sums : uint8_t { none, udp, both };

// The UDP payload's bytes, at least `least`, or 0 where the frame is not plain or has less. The payload
// stands at frame_header_bytes. `least` is at least 1.
template <known_sums known = known_sums::none>
inline uint32_t plain_payload_bytes(const uint8_t *frame, uint32_t bytes, const plain_match &us,
                                    uint32_t least) {
    constexpr uint32_t ip_header_bytes = offset::udp - offset::ip;
    if (unlikely(bytes < frame_header_bytes + least || !plain_headers(frame, us))) return 0;

    const uint32_t ip_bytes = rte_be_to_cpu_16(load<uint16_t>(frame + offset::ip_length));
    const uint16_t udp_field = rte_cpu_to_be_16(static_cast<uint16_t>(ip_bytes - ip_header_bytes));
    const uint32_t shortest = ip_udp_header_bytes + least;
    // one compare for too few and too many
    const bool fits = ip_bytes - shortest <= bytes - offset::ip - shortest;
    if (unlikely(!fits || load<uint16_t>(frame + offset::udp_length) != udp_field)) return 0;

    const uint32_t payload = ip_bytes - ip_udp_header_bytes;
    if constexpr (known == known_sums::both) return payload;
    const uint64_t ip_sum = checksum_add(
        checksum_add(load<uint64_t>(frame + offset::addresses), load<uint32_t>(frame + offset::time_to_live)),
        load<uint64_t>(frame + offset::ip));
    uint16_t both = checksum_fold(ip_sum);
    if constexpr (known == known_sums::none) both &= plain_udp_sum(frame, ip_bytes);
    return both == 0xffff ? payload : 0;
}

// The headers of a plain frame that came, down to its UDP length. What has the same ones is ours, too, and
// has the same lengths and the same right IP checksum.
struct known_headers {
    bytes_as_words first{}, second{};  // 16 bytes each
    uint64_t third = 0;
    uint32_t payload_bytes = 0;  // 0: none came
    uint32_t misses = 0;         // frames with other headers
};
static_assert(2 * sizeof(bytes_as_words) + sizeof(uint64_t) == offset::udp_checksum);

inline bool has_headers(const uint8_t *frame, const known_headers &h) {
    const bytes_as_words parts =
        (load<bytes_as_words>(frame) ^ h.first) | (load<bytes_as_words>(frame + 16) ^ h.second);
    return (parts[0] | parts[1] | (load<uint64_t>(frame + 32) ^ h.third)) == 0;
}

// As plain_payload_bytes, for a queue most of whose frames have the same headers. Where they have many,
// keeping each would cost more than it saves: few are kept.
template <known_sums known = known_sums::none>
inline uint32_t plain_payload_bytes(const uint8_t *frame, uint32_t bytes, const plain_match &us,
                                    uint32_t least, known_headers &kept) {
    constexpr uint32_t misses_between = 64;
    if (likely(bytes >= frame_header_bytes + std::max(least, kept.payload_bytes) &&
               has_headers(frame, kept))) {
        const uint32_t ip_bytes = ip_udp_header_bytes + kept.payload_bytes;
        const bool right = known != known_sums::none || plain_udp_sum(frame, ip_bytes) == 0xffff;
        return right ? kept.payload_bytes : 0;
    }
    const uint32_t payload = plain_payload_bytes<known>(frame, bytes, us, least);
    if (payload != 0 && kept.misses++ % misses_between == 0) {
        kept.first = load<bytes_as_words>(frame);
        kept.second = load<bytes_as_words>(frame + 16);
        kept.third = load<uint64_t>(frame + 32);
        kept.payload_bytes = payload;
    }
    return payload;
}

}  // namespace wt
