// The source of request bodies: which of its bytes a message gets. That follows from the message's name, and
// the bytes from the run's seed (core/random_bytes.h).
#pragma once

#include <cstdint>

namespace wt {

constexpr uint32_t source_line = 64;  // parts of the source begin on cache lines

struct source_layout {
    uint64_t seed;
    uint64_t parts;  // 1: every message gets the same bytes
    uint64_t part_bytes;
    uint32_t slots;  // most messages in flight of one application: their names take turns

    source_layout(uint64_t seed_, uint64_t bytes, uint32_t body, uint32_t slots_, bool hot)
        : seed(seed_),
          parts(1),
          part_bytes((uint64_t{body} + source_line - 1) / source_line * source_line),
          slots(slots_) {
        if (!hot && part_bytes > 0 && bytes > part_bytes) parts = bytes / part_bytes;
    }
};

// Where the body of a message begins in the source. A slot's generation is odd while the message is in flight
// and grows by two: messages take the parts in turn.
inline uint64_t source_position(const source_layout &s, uint16_t application, uint32_t slot,
                                uint32_t generation) {
    if (s.parts == 1) return 0;
    const uint64_t number = uint64_t{generation >> 1} * s.slots + slot + application;
    return number % s.parts * s.part_bytes;
}

}  // namespace wt
