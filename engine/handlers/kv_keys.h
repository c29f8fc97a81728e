/* Which key the client of `kv` asks for next: all alike, by Zipf's law, always the same, or as a file says.
 *
 * A draw takes constant time and allocates nothing; the same state of chance gives the same keys. */
#ifndef WT_HANDLERS_KV_KEYS_H
#define WT_HANDLERS_KV_KEYS_H

#include <windtunnel/handler.h>

#include "core/sampler.h"

enum kv_distribution { KV_UNIFORM, KV_ZIPF, KV_FIXED, KV_FILE };

/* A permutation of 0 to `count` - 1 that looks like chance, the same in every run. */
struct kv_scatter {
    uint64_t count;
    uint64_t mask; /* of the bits that count - 1 needs */
    uint32_t half; /* of those bits, at least 1 */
};

struct kv_keys {
    uint32_t distribution; /* enum kv_distribution */
    uint32_t scattered;    /* Zipf: the rank is not the key */
    uint64_t count;        /* keys that the server has loaded: 0 to count - 1 */
    uint64_t fixed;
    struct wt_zipf zipf;
    struct kv_scatter scatter;
    struct wt_alias file;
    struct wt_alias_slot *slots; /* of `file` */
    uint64_t *listed;            /* keys of the file, by place */
};

/* For `role` client it reads the file, for the server it only checks the options. Returns 0, or -1 with words
 * in open->error; kv_keys_close is due in both cases. */
int kv_keys_open(const struct wt_open *open, uint64_t count, struct kv_keys *keys);
void kv_keys_close(struct kv_keys *keys);

static inline void kv_scatter_init(struct kv_scatter *scatter, uint64_t count) {
    const uint32_t bits = count > 1 ? 64 - (uint32_t)__builtin_clzll(count - 1) : 0;
    scatter->count = count;
    scatter->mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    scatter->half = bits / 2 + 1;
}

/* Hot keys must not lie side by side, as the ranks do. YCSB hashes the rank, so that some keys share a place
 * and others are never drawn. Here every step can be undone (an XOR with the upper half, a product with an
 * odd number), on a power of two; what falls outside is sent on until it falls inside (cycle walking: J.
 * Black, P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002): on average less than twice. */
static inline uint64_t kv_scattered(const struct kv_scatter *scatter, uint64_t rank) {
    do {
        rank ^= rank >> scatter->half;
        rank = rank * 0xbf58476d1ce4e5b9u & scatter->mask;
        rank ^= rank >> scatter->half;
        rank = rank * 0x94d049bb133111ebu & scatter->mask;
        rank ^= rank >> scatter->half;
    } while (rank >= scatter->count);
    return rank;
}

static inline uint64_t kv_keys_next(const struct kv_keys *keys, uint64_t *random) {
    uint64_t rank;
    switch (keys->distribution) {
        case KV_ZIPF:
            rank = wt_zipf_draw(&keys->zipf, random) - 1;
            return keys->scattered ? kv_scattered(&keys->scatter, rank) : rank;
        case KV_FIXED:
            return keys->fixed;
        case KV_FILE:
            return keys->listed[wt_alias_draw(&keys->file, random)];
        default:
            return random_below(random, keys->count);
    }
}

#endif
