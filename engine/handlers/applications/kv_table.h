/* A hash table with 8-byte keys, all its memory taken at open: open addressing, linear probing, at most half
 * full.
 *
 * DPDK's rte_hash would be the field's choice; it takes its memory from EAL, and handlers work without. A hit
 * costs two cache misses, as there: the slot and the value. Nothing is ever deleted. */
#ifndef WT_HANDLERS_KV_TABLE_H
#define WT_HANDLERS_KV_TABLE_H

#include "core/random.h"

struct kv_slot {
    uint64_t key;
    uint32_t entry;  /* 1 + place of its value; 0: the slot is free */
    uint32_t length; /* bytes of its value */
};
_Static_assert(sizeof(struct kv_slot) == 16, "four slots a cache line");

struct kv_table {
    struct kv_slot *slots;
    uint8_t *values;
    uint64_t mask; /* slots - 1; slots are a power of two */
    uint64_t salt; /* so that the keys that collide are not known outside */
    uint32_t used;
    uint32_t most;   /* values that there is room for: half the slots */
    uint32_t stride; /* bytes of room for a value */
};

static inline struct kv_slot *kv_home(const struct kv_table *table, uint64_t key) {
    return &table->slots[mix64(key ^ table->salt) & table->mask];
}

/* The key's slot, or the free one where it would stand. Half the slots are free: it ends. */
static inline struct kv_slot *kv_find(const struct kv_table *table, uint64_t key) {
    struct kv_slot *slot = kv_home(table, key);
    while (slot->entry != 0 && slot->key != key)
        slot = &table->slots[(uint64_t)(slot + 1 - table->slots) & table->mask];
    return slot;
}

static inline uint8_t *kv_value(const struct kv_table *table, const struct kv_slot *slot) {
    return table->values + (uint64_t)(slot->entry - 1) * table->stride;
}

/* The slot of a key that is there from now on; NULL where the table is full. */
static inline struct kv_slot *kv_claim(struct kv_table *table, uint64_t key) {
    struct kv_slot *slot = kv_find(table, key);
    if (slot->entry != 0) return slot;
    if (table->used == table->most) return 0;
    *slot = (struct kv_slot){.key = key, .entry = ++table->used};
    return slot;
}

#endif
