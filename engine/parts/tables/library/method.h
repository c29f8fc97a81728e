/* What a method of looking up is to table.cc: one structure with rules in it, of which nothing is shared
 * between threads while it changes. Copies, readers and live changes are the table's. */
#ifndef WT_TABLES_METHOD_H
#define WT_TABLES_METHOD_H

#include <stdbool.h>
#include <string.h>

#include "parts/tables/library/table_types.h"
#include "parts/tables/library/words.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An entry that a structure points to. The rest is where the action's parameters stand in other switches. */
struct wt_entry {
    uint32_t value;
    uint8_t rest[60];
} __attribute__((aligned(64)));

struct wt_copy;
typedef uint64_t wt_lookup_fn(const struct wt_copy *copy, const uint8_t *const keys[], uint32_t count,
                              uint32_t values[]);

/* One state of a table, as readers see it. */
struct wt_copy {
    wt_lookup_fn *lookup;
    void *structure;
    struct wt_entry *entries; /* WT_POINTED; else NULL */
    wt_lookup_fn *bulk;       /* WT_POINTED and WT_BULK: what finds the entries */
};

/* What a structure is made for. */
struct wt_method_plan {
    const struct wt_table_plan *table;
    char name[24];        /* for EAL, unlike any other */
    int socket;           /* SOCKET_ID_ANY or a node */
    uint32_t deep_blocks; /* WT_LPM */
};

/* `rule` is well formed: see wt_table_change. Where words are asked for, they are written on failure. */
struct wt_method {
    uint32_t id;   /* enum wt_table_method_id */
    uint32_t kind; /* enum wt_table_kind */
    const char *name;
    uint32_t most_value;
    uint32_t shortest_prefix; /* WT_LPM */
    uint32_t address_bytes;   /* WT_LPM: of a key: 4 of IPv4, 16 of IPv6 */
    wt_lookup_fn *bulk;
    wt_lookup_fn *single; /* follows the pointer to an entry, where there are entries */
    uint64_t (*need)(const struct wt_table_plan *plan); /* bytes of one structure at capacity, at most */
    void *(*open)(const struct wt_method_plan *plan, const struct wt_words *words);
    void (*close)(void *structure);
    bool (*find)(const void *structure, const struct wt_rule *rule, uint32_t *value); /* this very rule */
    int (*add)(void *structure, const struct wt_rule *rule, const struct wt_words *words);
    int (*replace)(void *structure, const struct wt_rule *rule, const struct wt_words *words);
    int (*remove)(void *structure, const struct wt_rule *rule, const struct wt_words *words);
    /* Optional: before readers see it, after all of a batch. If it fails, what was built before stands. */
    int (*commit)(void *structure, const struct wt_words *words);
    uint64_t (*places)(const void *structure); /* optional */
    uint64_t (*tuples)(const void *structure); /* optional */
};

extern const struct wt_method wt_hash_method, wt_fib_method, wt_lpm_method, wt_lpm6_method, wt_acl_method,
    wt_linear_method, wt_tss_method;

/* A bulk lookup that finds entries, then reads them all: their cache misses overlap too (lookup.c). */
wt_lookup_fn wt_pointed_bulk;

/* NULL where there is no such method. For addresses of IPv6 one may be made otherwise than for IPv4's. */
const struct wt_method *wt_method_of(uint32_t id, uint32_t key_bytes);

/* Places of a hash table for `capacity` rules at a load of at most `load`: a power of two, 8 or more. */
static inline uint64_t wt_places(uint64_t capacity, double load) {
    uint64_t places = 8;
    while ((double)capacity > load * (double)places) places *= 2;
    return places;
}

static inline uint32_t wt_load32(const uint8_t *bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* An IPv4 address as DPDK's LPM wants it, in the host's order. */
static inline uint32_t wt_address(const uint8_t *key) { return __builtin_bswap32(wt_load32(key)); }

/* Where the values are read that a bulk lookup found. With every bit set, without a branch a key. */
static inline uint64_t wt_all(uint32_t count) { return UINT64_MAX >> (64 - count); }

/* The loop of a single lookup, with `one` inlined into it. */
static inline __attribute__((always_inline)) uint64_t
wt_one_by_one(const struct wt_copy *copy, const uint8_t *const keys[], uint32_t count, uint32_t values[],
              bool (*one)(const void *structure, const uint8_t *key, uint32_t *value)) {
    uint64_t hits = 0;
    for (uint32_t i = 0; i < count; ++i) {
        if (!one(copy->structure, keys[i], &values[i])) continue;
        if (copy->entries) values[i] = copy->entries[values[i]].value;
        hits |= UINT64_C(1) << i;
    }
    return hits;
}

#ifdef __cplusplus
}
#endif
#endif
