// Frames of UDP over IPv6 for tests, and their checksum by code that shares nothing with ours.
#pragma once

#include <algorithm>

#include "core/frame_ipv6.h"
#include "frame_tools.h"

namespace wt {

constexpr size_t next_header = 20, udp = 54;
constexpr uint8_t next_is_icmpv6 = 58;

// 0xffff when the checksum of UDP or ICMPv6 holds (RFC 8200, 8.1): addresses, length, next header, and what
// is behind them.
inline uint32_t slow_ipv6_sum(std::span<const uint8_t> frame) {
    const uint32_t length = big16(frame, 18);
    const uint8_t pseudo[] = {0, 0, frame[18], frame[19], 0, 0, 0, frame[next_header]};
    return slow_sum(frame.subspan(udp, length), slow_sum(pseudo, slow_sum(frame.subspan(22, 32))));
}

inline void mend_ipv6_checksum(byte_vector &frame) {
    const size_t at = frame[next_header] == next_is_icmpv6 ? 56 : 60;
    put_big16(frame, at, 0);
    const uint32_t field = 0xffff - slow_ipv6_sum(frame);
    put_big16(frame, at, field == 0 ? 0xffff : field);
}

inline byte_vector changed(byte_vector frame, size_t at, uint8_t value) {
    frame[at] = value;
    return frame;
}

}  // namespace wt
