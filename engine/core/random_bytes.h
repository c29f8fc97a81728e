/* Bytes that follow from a seed and their position, so that whoever knows both can check them without having
 * seen where they came from. */
#ifndef WT_CORE_RANDOM_BYTES_H
#define WT_CORE_RANDOM_BYTES_H

#include <stdint.h>
#include <string.h>

#include "core/random.h"

/* The 8 bytes at 8 * `word`, the first one lowest. */
static inline uint64_t random_word(uint64_t seed, uint64_t word) {
    return mix64(seed + word * 0x9e3779b97f4a7c15u);
}

static inline void random_bytes_fill(uint64_t seed, uint8_t *at, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes; done += sizeof(uint64_t)) {
        const uint64_t word = random_word(seed, done / sizeof word);
        memcpy(at + done, &word, bytes - done < sizeof word ? bytes - done : sizeof word);
    }
}

struct wrong_bytes {
    uint32_t count, first; /* first: its offset; where there is one */
};

/* Compares up to 8 bytes, which begin at `offset` of all, with those of a word from `skip` on. */
static inline void wrong_bytes_add(struct wrong_bytes *wrong, uint64_t word, uint32_t skip, const uint8_t *at,
                                   uint32_t count, uint32_t offset) {
    for (uint32_t i = 0; i < count; i++)
        if (at[i] != (uint8_t)(word >> (skip + i) * 8) && wrong->count++ == 0) wrong->first = offset + i;
}

/* Compares `bytes` bytes with those from `position` on. */
static inline struct wrong_bytes random_bytes_compare(uint64_t seed, uint64_t position, const uint8_t *at,
                                                      uint32_t bytes) {
    struct wrong_bytes wrong = {0, 0};
    const uint32_t whole = sizeof(uint64_t);
    for (uint32_t done = 0; done < bytes;) {
        const uint32_t skip = (uint32_t)((position + done) % whole);
        const uint64_t word = random_word(seed, (position + done) / whole);
        const uint32_t left = bytes - done, count = left < whole - skip ? left : whole - skip;
        uint64_t found = 0;
        if (count == whole) memcpy(&found, at + done, whole);
        if (count < whole || found != word) wrong_bytes_add(&wrong, word, skip, at + done, count, done);
        done += count;
    }
    return wrong;
}

#endif
