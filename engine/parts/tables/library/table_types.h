/* What a table is made for, its rules, and changes of them. */
#ifndef WT_TABLES_TABLE_TYPES_H
#define WT_TABLES_TABLE_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WT_TABLE_BURST = 64,     /* most keys of a lookup */
    WT_TABLE_READERS = 128,  /* most readers of a table at once */
    WT_KEY_MOST = 64,        /* bytes; a key is a multiple of 4 */
    WT_TERNARY_KEY_MOST = 48 /* bytes */
};

enum wt_table_kind { WT_EXACT = 1, WT_LPM = 2, WT_TERNARY = 3 };

enum wt_table_method_id {
    WT_HASH = 1, /* exact: rte_hash, cuckoo with overflow buckets */
    WT_FIB,      /* LPM: rte_fib, DIR-24-8; the key is an IPv4 address */
    WT_LPM_LIST, /* LPM: rte_lpm; adding a prefix costs time in proportion to those that are there. Keys of 16
                    bytes are IPv6 addresses: rte_lpm6 */
    WT_ACL,      /* ternary: rte_acl, multi-bit tries */
    WT_LINEAR,   /* ternary: from the highest priority down until one matches */
    WT_TSS,      /* ternary: tuple-space search, one hash lookup for each mask that may still win */
};

enum wt_table_lookup_mode {
    WT_BULK = 0,   /* a burst at once: its cache misses overlap */
    WT_SINGLE = 1, /* one key after the other, to the end: what a loop over packets does */
};

enum wt_table_access {
    WT_POINTER = 0, /* the reader keeps the pointer; the table never changes */
    WT_RCU = 1,     /* the reader takes the pointer anew each burst; the table may change */
};

/* Where a value stands. */
enum wt_table_entries {
    WT_INLINE = 0,  /* in the structure that is looked up */
    WT_POINTED = 1, /* in an entry of 64 bytes in memory of its own: one more dependent access, as in T4P4S */
};

struct wt_table_plan {
    const char *name; /* for words */
    uint32_t kind;    /* enum wt_table_kind */
    uint32_t method;  /* enum wt_table_method_id */
    uint32_t key_bytes;
    uint32_t lookup;      /* enum wt_table_lookup_mode */
    uint32_t access;      /* enum wt_table_access */
    uint32_t entries;     /* enum wt_table_entries */
    int32_t numa_socket;  /* -1: any */
    uint32_t deep_blocks; /* WT_LPM: room for so many blocks of 24 bits, of IPv6 also of 32, 40 and so on,
                             that have longer prefixes inside, 1 KiB each; at least those of the rules at
                             open and a quarter more */
    uint64_t capacity;    /* most rules at once, 1 to 2^24 */
    double load;   /* hash tables: share of places used at `capacity`, above 0 and up to 1; places are a power
                      of   two, so what results is at most this */
    uint64_t seed; /* salts the hash */
};

/* One rule, as a view. */
struct wt_rule {
    const uint8_t *key;  /* key_bytes; bits outside the mask or prefix are 0 */
    const uint8_t *mask; /* WT_TERNARY: key_bytes; else NULL */
    uint32_t length;     /* WT_LPM: bits of the prefix, 0 to 32, of IPv6 to 128 */
    uint32_t priority; /* WT_TERNARY: 1 to 2^29 - 1; the highest that matches wins; where two match that have
                          the same, either */
    uint32_t value;    /* 0 to wt_table_most_value() */
};

enum wt_change_kind {
    WT_ADD = 1,     /* must not be there */
    WT_REMOVE = 2,  /* must be there; value is not looked at */
    WT_REPLACE = 3, /* must be there; takes the new value and keeps its priority */
};

struct wt_change {
    uint32_t kind; /* enum wt_change_kind */
    struct wt_rule rule;
};

struct wt_table_state {
    uint64_t rules;   /* now */
    uint64_t places;  /* of the structure for rules; 0 where it has no such thing */
    double load;      /* rules / places; 0 where there are no places */
    uint64_t tuples;  /* WT_TSS: masks in use; else 0 */
    uint64_t bytes;   /* of EAL's heap, as its own statistics count it: both copies, with their entries */
    uint64_t copies;  /* 1 or 2 */
    uint64_t changes; /* changes of single rules made since the open */
    uint64_t commits; /* times that a new state was shown to the readers */
    double build_s;   /* seconds that open took */
};

#ifdef __cplusplus
}
#endif
#endif
