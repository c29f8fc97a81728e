/* Which key the client of `kv` asks for next: all alike, by Zipf's law, always the same, or as a file says.
 *
 * A draw takes constant time and allocates nothing; the same state of chance gives the same keys. */
#ifndef WT_HANDLERS_KV_KEYS_H
#define WT_HANDLERS_KV_KEYS_H

#include <windtunnel/handler.h>

#include "core/sampler.h"
#include "core/scatter.h"

enum kv_distribution { KV_UNIFORM, KV_ZIPF, KV_FIXED, KV_FILE };

struct kv_keys {
    uint32_t distribution; /* enum kv_distribution */
    uint32_t scattered;    /* Zipf: the rank is not the key */
    uint64_t count;        /* keys that the server has loaded: 0 to count - 1 */
    uint64_t fixed;
    struct wt_zipf zipf;
    struct wt_scatter scatter;
    struct wt_alias file;
    struct wt_alias_slot *slots; /* of `file` */
    uint64_t *listed;            /* keys of the file, by place */
};

/* For `role` client it reads the file, for the server it only checks the options. Returns 0, or -1 with words
 * in open->error; kv_keys_close is due in both cases. */
int kv_keys_open(const struct wt_open *open, uint64_t count, struct kv_keys *keys);
void kv_keys_close(struct kv_keys *keys);

static inline uint64_t kv_keys_next(const struct kv_keys *keys, uint64_t *random) {
    uint64_t rank;
    switch (keys->distribution) {
        case KV_ZIPF:
            rank = wt_zipf_draw(&keys->zipf, random) - 1;
            return keys->scattered ? wt_scattered(&keys->scatter, rank) : rank;
        case KV_FIXED: return keys->fixed;
        case KV_FILE: return keys->listed[wt_alias_draw(&keys->file, random)];
        default: return random_below(random, keys->count);
    }
}

#endif
