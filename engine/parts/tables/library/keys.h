/* The keys that packets carry: which rule each one hits, how often, and how many hit none.
 *
 * A draw takes constant time and allocates nothing; the same state of chance gives the same keys. */
#ifndef WT_TABLES_KEYS_H
#define WT_TABLES_KEYS_H

#include "core/sampler.h"
#include "parts/tables/library/rules.h"
#include "parts/tables/library/words.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WT_NO_RULE UINT64_MAX

enum wt_popularity { WT_UNIFORM = 0, WT_ZIPF = 1 };

/* A key that was found for a rule of a file, and the rule that it hits: a better one may cover it. */
struct wt_found_keys {
    uint8_t *hits;   /* one a rule: rules x key_bytes */
    uint64_t *rules; /* the best rule of each */
    uint8_t *misses; /* miss_count x key_bytes */
    uint64_t hit_count, miss_count;
};

struct wt_keys {
    uint32_t popularity; /* enum wt_popularity */
    uint32_t key_bytes;
    double hit;     /* share of keys that hit a rule */
    uint64_t count; /* rules to choose from */
    struct wt_zipf zipf;
    struct wt_scatter scatter;     /* of ranks: what is asked for most lies anywhere */
    struct wt_generator generator; /* kind 0: keys are `found` */
    struct wt_found_keys found;
};

/* Finding keys for rules of a file takes one search among all rules a key. Both return 0, or -1 with words in
 * `error`; wt_keys_close is due in both cases. `hit` is a share, 0 to 1; `exponent` is Zipf's, above 0. A hit
 * rate that cannot be met (nothing is left to miss, no rule to hit) is refused. */
int wt_keys_of_generator(struct wt_keys *keys, const struct wt_generator *generator, double hit,
                         uint32_t popularity, double exponent, char *error, size_t error_size);
int wt_keys_of_rules(struct wt_keys *keys, const struct wt_rules *rules, double hit, uint32_t popularity,
                     double exponent, uint64_t seed, char *error, size_t error_size);
void wt_keys_close(struct wt_keys *keys);

/* Everything of `keys` but where they come from, for both. Returns 0, or -1 with words. */
int wt_keys_open(struct wt_keys *keys, uint64_t rules, double hit, uint32_t popularity, double exponent,
                 const struct wt_words *words);

/* Writes a key and returns the number of the rule that it hits, WT_NO_RULE for none. */
uint64_t wt_keys_draw(const struct wt_keys *keys, uint64_t *random, uint8_t *key);

#ifdef __cplusplus
}
#endif
#endif
