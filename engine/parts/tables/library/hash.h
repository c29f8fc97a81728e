/* An rte_hash of a table's size, for the methods that stand on one. */
#ifndef WT_TABLES_HASH_H
#define WT_TABLES_HASH_H

#include "parts/tables/library/method.h"

struct rte_hash;

/* NULL with words where EAL's heap has no room for it. */
struct rte_hash *wt_hash_open(const struct wt_method_plan *plan, uint32_t key_bytes,
                              const struct wt_words *words);

/* Bytes of EAL's heap at most. */
uint64_t wt_hash_need(uint64_t capacity, double load, uint32_t key_bytes);

#endif
