/* A pseudo-random permutation of 0 to `count` - 1, the same in every run. */
#ifndef WT_CORE_SCATTER_H
#define WT_CORE_SCATTER_H

#include <stdint.h>

struct wt_scatter {
    uint64_t count;
    uint64_t mask; /* of the bits that count - 1 needs */
    uint32_t half; /* of those bits, at least 1 */
};

static inline void wt_scatter_init(struct wt_scatter *scatter, uint64_t count) {
    const uint32_t bits = count > 1 ? 64 - (uint32_t)__builtin_clzll(count - 1) : 0;
    scatter->count = count;
    scatter->mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    scatter->half = bits / 2 + 1;
}

/* Hot keys must not be adjacent, as the ranks are. YCSB hashes the rank, so that some keys share a place
 * and others are never drawn. Here every step can be undone (an XOR with the upper half, a product with an
 * odd number), on a power of two; what falls outside is sent on until it falls inside (cycle walking: J.
 * Black, P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002): on average less than twice. */
static inline uint64_t wt_scattered(const struct wt_scatter *scatter, uint64_t rank) {
    do {
        rank ^= rank >> scatter->half;
        rank = rank * 0xbf58476d1ce4e5b9u & scatter->mask;
        rank ^= rank >> scatter->half;
        rank = rank * 0x94d049bb133111ebu & scatter->mask;
        rank ^= rank >> scatter->half;
    } while (rank >= scatter->count);
    return rank;
}

#endif
