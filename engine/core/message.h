// The message header: 16 bytes at the head of every segment's UDP payload.
//
// Small enough for a UDP payload of 22 bytes (a 64-byte mbuf). It names the client's in-flight slot, not a
// time: timestamps stay in the client's table, and the generation distinguishes a late response from a right
// one.
#pragma once

#include <rte_byteorder.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "core/terms.h"

namespace wt {

// High half: version 1 of the header. The last two are words between hosts (control/hello.h), not messages.
enum class message_kind : uint8_t { request = 0x11, response = 0x12, hello = 0x13, hello_response = 0x14 };

struct message_header {
    message_kind kind;
    uint8_t workload;
    uint16_t application;  // the client's, in its endpoint: a response goes back to it
    uint32_t slot;         // of that application's in-flight table
    uint32_t generation;   // of the slot
    uint16_t segment;      // of this packet, from 0
    uint16_t segments;     // of the whole message, at least 1
};
static_assert(sizeof(message_header) == message_header_bytes);

// Writes the header in network byte order; `at` need not be aligned.
inline void message_header_write(uint8_t *at, const message_header &h) {
    const message_header wire = {h.kind,
                                 h.workload,
                                 rte_cpu_to_be_16(h.application),
                                 rte_cpu_to_be_32(h.slot),
                                 rte_cpu_to_be_32(h.generation),
                                 rte_cpu_to_be_16(h.segment),
                                 rte_cpu_to_be_16(h.segments)};
    std::memcpy(at, &wire, sizeof wire);
}

// What identifies a message in its application: slot and generation, as they stand in its header.
inline uint64_t message_name(uint32_t slot, uint32_t generation) {
    return rte_cpu_to_be_64(uint64_t{slot} << 32 | generation);
}

// Writes another message's slot and generation into a header that is otherwise right.
inline void message_header_rename(uint8_t *at, uint64_t name) {
    std::memcpy(at + offsetof(message_header, slot), &name, sizeof name);
}

// Whether a header in a packet, in network byte order, is that of a message of one segment.
inline bool message_is_one_segment(const uint8_t *at) {
    constexpr uint32_t first_of_one = RTE_BE32(1);  // segment 0, segments 1
    uint32_t both;
    std::memcpy(&both, at + offsetof(message_header, segment), sizeof both);
    return both == first_of_one;
}

// The slot (high half) and the generation of a header in a packet.
inline uint64_t message_slot_and_generation(const uint8_t *at) {
    uint64_t both;
    std::memcpy(&both, at + offsetof(message_header, slot), sizeof both);
    return rte_be_to_cpu_64(both);
}

// One of several queues for a message: for all its segments the same, for a client's next message the next
// one. With the round of the slot, so that the messages of a slot come to all queues in turn, too.
inline uint32_t message_queue(const uint8_t *at, uint32_t queues) {
    const uint64_t both = message_slot_and_generation(at);
    return (static_cast<uint32_t>(both >> 32) + (static_cast<uint32_t>(both) >> 1)) % queues;
}

// What the first word of a header must be, in network byte order, where the mask leaves it.
struct message_match {
    uint32_t expected, mask;
};

// Messages of one kind and workload, and of one application where one is given.
inline message_match message_match_of(message_kind kind, uint8_t workload,
                                      std::optional<uint16_t> application) {
    uint8_t header[message_header_bytes];
    message_match m{};
    message_header_write(header, {kind, workload, application.value_or(0), 0, 0, 0, 0});
    std::memcpy(&m.expected, header, sizeof m.expected);
    std::memset(&m.mask, 0xff, application ? sizeof m.mask : offsetof(message_header, application));
    return m;
}
constexpr message_match no_message_matches = {1, 0};

inline bool message_matches(const message_match &m, const uint8_t *at) {
    uint32_t word;
    std::memcpy(&word, at, sizeof word);
    return (word & m.mask) == m.expected;
}

inline message_header message_header_read(const uint8_t *at) {
    message_header wire;
    std::memcpy(&wire, at, sizeof wire);
    return {wire.kind,
            wire.workload,
            rte_be_to_cpu_16(wire.application),
            rte_be_to_cpu_32(wire.slot),
            rte_be_to_cpu_32(wire.generation),
            rte_be_to_cpu_16(wire.segment),
            rte_be_to_cpu_16(wire.segments)};
}

// How a message of `bytes` (UDP payload, one header included) is cut for segments whose UDP payload holds at
// most `segment_room` bytes: every segment repeats the header, all but the last are full.
struct segmentation {
    uint32_t body_bytes;    // of the message, headers not counted
    uint32_t segment_body;  // body bytes of a full segment
    uint32_t segments;      // at least 1
    uint32_t last_body;     // body bytes of the last segment
};

constexpr segmentation segmentation_into(uint32_t body, uint32_t full) {
    const uint32_t segments = body <= full ? 1 : (body + full - 1) / full;
    return {body, full, segments, body - (segments - 1) * full};
}

constexpr segmentation segmentation_of(uint32_t bytes, uint32_t segment_room) {
    return segmentation_into(bytes - message_header_bytes, segment_room - message_header_bytes);
}

constexpr uint32_t segment_body_bytes(const segmentation &s, uint32_t segment) {
    return segment + 1 == s.segments ? s.last_body : s.segment_body;
}

}  // namespace wt
