/* The parts of the generator, one a kind of rule. */
#ifndef WT_TABLES_GENERATOR_H
#define WT_TABLES_GENERATOR_H

#include <string.h>

#include "core/random.h"
#include "parts/tables/library/rules.h"
#include "parts/tables/library/words.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rules come in pairs, 2j and 2j + 1: the second lies inside the first and wins where both match. No pair
 * touches another. So a key's best rule is known without a search. */
static inline uint64_t wt_pair(uint64_t i) { return i / 2; }

static inline void wt_store32(uint8_t *bytes, uint32_t word) {
    word = __builtin_bswap32(word);
    memcpy(bytes, &word, sizeof word);
}

/* `most` of a generator: rules that there could be. */
uint64_t wt_prefixes_most(const struct wt_generator *generator);
struct wt_rule wt_generated_prefix(const struct wt_generator *generator, uint64_t i, uint8_t *key);
void wt_generated_address(const struct wt_generator *generator, uint64_t i, uint64_t *random, uint8_t *key);

/* A key of IPv6 from one of IPv4, in place: 24 bits that all have stand before it, zeros behind it. */
void wt_widen(uint8_t *key);
/* Every bit behind those that a key of IPv4 fills. */
void wt_draw_rest(uint64_t *random, uint8_t *key);

int wt_ternary_open(struct wt_generator *generator, const struct wt_words *words);
struct wt_rule wt_generated_ternary(const struct wt_generator *generator, uint64_t i, uint8_t *key,
                                    uint8_t *mask);
void wt_generated_match(const struct wt_generator *generator, uint64_t i, uint64_t *random, uint8_t *key);

/* Whether there is a key that no rule matches; wt_generated_miss draws one. */
bool wt_generator_misses(const struct wt_generator *generator);
void wt_generated_miss(const struct wt_generator *generator, uint64_t *random, uint8_t *key);

#ifdef __cplusplus
}
#endif
#endif
