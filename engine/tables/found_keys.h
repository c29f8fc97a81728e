/* What keys.c and found_keys.cc share. */
#ifndef WT_TABLES_FOUND_KEYS_H
#define WT_TABLES_FOUND_KEYS_H

#include "tables/keys.h"
#include "tables/words.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Everything of `keys` but where they come from. Returns 0, or -1 with words. */
int wt_keys_open(struct wt_keys *keys, uint64_t rules, double hit, uint32_t popularity, double exponent,
                 const struct wt_words *words);

#ifdef __cplusplus
}
#endif
#endif
