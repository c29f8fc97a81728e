// Frames for tests, and the checksum written once more, slowly, byte by byte from RFC 1071: it shares nothing
// with the code that it checks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "core/frame_write.h"

namespace wt {

using byte_vector = std::vector<uint8_t>;

inline uint32_t big16(std::span<const uint8_t> bytes, size_t at) { return bytes[at] * 256u + bytes[at + 1]; }

inline void put_big16(std::span<uint8_t> bytes, size_t at, uint32_t value) {
    bytes[at] = static_cast<uint8_t>(value >> 8);
    bytes[at + 1] = static_cast<uint8_t>(value);
}

inline uint32_t slow_sum(std::span<const uint8_t> bytes, uint32_t sum = 0) {
    for (size_t i = 0; i < bytes.size(); i++) {
        sum += i % 2 == 0 ? bytes[i] * 256u : bytes[i];
        if (sum > 0xffff) sum -= 0xffff;
    }
    return sum;
}

inline uint32_t slow_ip_header_bytes(std::span<const uint8_t> frame) { return frame[14] % 16 * 4u; }

// 0xffff when the IPv4 header's checksum holds.
inline uint32_t slow_ip_sum(std::span<const uint8_t> frame) {
    return slow_sum(frame.subspan(14, slow_ip_header_bytes(frame)));
}

// 0xffff when the UDP checksum holds: pseudo-header (addresses, protocol, length), header and payload.
inline uint32_t slow_udp_sum(std::span<const uint8_t> frame) {
    const size_t udp = 14 + slow_ip_header_bytes(frame);
    const uint32_t length = big16(frame, udp + 4);
    const uint8_t protocol_and_length[] = {0, 17, static_cast<uint8_t>(length >> 8),
                                           static_cast<uint8_t>(length)};
    return slow_sum(frame.subspan(udp, length),
                    slow_sum(protocol_and_length, slow_sum(frame.subspan(26, 8))));
}

inline void mend_ip_checksum(std::span<uint8_t> frame) {
    put_big16(frame, 24, 0);
    put_big16(frame, 24, 0xffff - slow_ip_sum(frame));
}

inline void mend_udp_checksum(std::span<uint8_t> frame) {
    const size_t at = 14 + slow_ip_header_bytes(frame) + 6;
    put_big16(frame, at, 0);
    const uint32_t field = 0xffff - slow_udp_sum(frame);
    put_big16(frame, at, field == 0 ? 0xffff : field);
}

inline void mend_icmp_checksum(std::span<uint8_t> frame) {
    const size_t icmp = 14 + slow_ip_header_bytes(frame);
    put_big16(frame, icmp + 2, 0);
    put_big16(frame, icmp + 2, 0xffff - slow_sum(frame.subspan(icmp, big16(frame, 16) + 14 - icmp)));
}

constexpr flow example_flow = {
    .source_mac = {{0x10, 0x70, 0xfd, 0x87, 0x0e, 0xba}},
    .destination_mac = {{0x10, 0x70, 0xfd, 0x6b, 0x93, 0x5c}},
    .source_ip = 0x0a000266,
    .destination_ip = 0x0a000265,
    .source_port = 10010,
    .destination_port = 20021,
};

// The receiver of example_flow: queue 1 of 4.
constexpr local_address example_us = {
    .mac = example_flow.destination_mac,
    .ip = example_flow.destination_ip,
    .first_port = 20020,
    .queues = 4,
    .queue = 1,
};

inline byte_vector example_frame(std::span<const uint8_t> payload) {
    byte_vector frame(frame_header_bytes + payload.size());
    std::copy(payload.begin(), payload.end(), frame.begin() + frame_header_bytes);
    frame_template t = frame_prepare(example_flow);
    frame_write(frame.data(), t, static_cast<uint32_t>(payload.size()));
    return frame;
}

// A payload of 1, 2, 3, ...
inline byte_vector counted(uint32_t bytes) {
    byte_vector payload(bytes);
    std::iota(payload.begin(), payload.end(), uint8_t{1});
    return payload;
}

// The same frame with `words` 32-bit words of IPv4 options ("no operation") and checksums that hold.
inline byte_vector with_options(byte_vector frame, uint32_t words) {
    frame.insert(frame.begin() + 34, words * 4, uint8_t{1});
    frame[14] = static_cast<uint8_t>(0x45 + words);
    put_big16(frame, 16, big16(frame, 16) + words * 4);
    mend_ip_checksum(frame);
    return frame;
}

// An ICMP echo request (RFC 792) to example_us with `data` behind identifier 0x1234 and sequence number 7.
inline byte_vector example_echo_request(std::span<const uint8_t> data) {
    byte_vector frame = example_frame(data);
    frame[23] = 1;
    mend_ip_checksum(frame);
    const uint8_t icmp[] = {8, 0, 0, 0, 0x12, 0x34, 0, 7};
    std::copy(std::begin(icmp), std::end(icmp), frame.begin() + 34);
    mend_icmp_checksum(frame);
    return frame;
}

}  // namespace wt
