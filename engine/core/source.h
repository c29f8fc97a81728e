// The source of request bodies: which of its bytes a message gets, and what those bytes are.
//
// Both follow from the message's name and the run's seed, so that a receiver can check every byte without
// having seen the source.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/random.h"

namespace wt {

constexpr uint32_t source_line = 64;  // parts of the source begin on cache lines

// The 8 bytes at 8 * `word` of a source.
inline uint64_t source_word(uint64_t seed, uint64_t word) { return mix64(seed + word * 0x9e3779b97f4a7c15u); }

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

inline void source_fill(uint64_t seed, uint8_t *at, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes; done += sizeof(uint64_t)) {
        const uint64_t word = source_word(seed, done / sizeof word);
        std::memcpy(at + done, &word, bytes - done < sizeof word ? bytes - done : sizeof word);
    }
}

struct wrong_bytes {
    uint32_t count, first;  // first: its offset; where there is one
};

// Compares up to 8 bytes with those of a word from `skip` on.
inline void source_compare_part(uint64_t word, uint32_t skip, const uint8_t *at, uint32_t count,
                                uint32_t offset, wrong_bytes &wrong) {
    for (uint32_t i = 0; i < count; i++)
        if (at[i] != static_cast<uint8_t>(word >> (skip + i) * 8) && wrong.count++ == 0)
            wrong.first = offset + i;
}

// Compares `bytes` bytes with those of the source from `position` on.
inline wrong_bytes source_compare(uint64_t seed, uint64_t position, const uint8_t *at, uint32_t bytes) {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    constexpr uint32_t whole = sizeof(uint64_t);
    wrong_bytes wrong{0, 0};
    for (uint32_t done = 0; done < bytes;) {
        const auto skip = static_cast<uint32_t>((position + done) % whole);
        const uint64_t word = source_word(seed, (position + done) / whole);
        const uint32_t left = bytes - done, count = left < whole - skip ? left : whole - skip;
        uint64_t found = 0;
        if (count == whole) std::memcpy(&found, at + done, whole);
        if (count < whole || found != word) source_compare_part(word, skip, at + done, count, done, wrong);
        done += count;
    }
    return wrong;
}

}  // namespace wt
