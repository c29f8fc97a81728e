/* Exact keys by rte_hash: a cuckoo hash of buckets of eight, which overflow into a list instead of refusing a
 * key, so that a table which changes never fails before its capacity. */
#include "parts/tables/library/hash.h"

#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>

#include "core/random.h"

struct rte_hash *wt_hash_open(const struct wt_method_plan *plan, uint32_t key_bytes,
                              const struct wt_words *words) {
    const struct wt_table_plan *table = plan->table;
    const uint64_t places = wt_places(table->capacity, table->load);
    /* rte_hash makes buckets for the next power of two, and room for the requested number of keys */
    const uint64_t keys = table->capacity > places / 2 ? table->capacity : places / 2 + 1;
    const struct rte_hash_parameters parameters = {
        .name = plan->name,
        .entries = (uint32_t)(keys < 8 ? 8 : keys),
        .key_len = key_bytes,
        .hash_func = rte_hash_crc,
        .hash_func_init_val = (uint32_t)mix64(table->seed),
        .socket_id = plan->socket,
        .extra_flag = RTE_HASH_EXTRA_FLAGS_EXT_TABLE,
    };
    struct rte_hash *hash = rte_hash_create(&parameters);
    if (!hash)
        wt_say(words, "rte_hash with %u keys of %u bytes: %s", parameters.entries, key_bytes,
               strerror(rte_errno));
    return hash;
}

/* A bucket is a cache line, and stands twice for the overflow; a key stands with its data at 16 bytes, its
 * index in two rings that double to a power of two. */
uint64_t wt_hash_need(uint64_t capacity, double load, uint32_t key_bytes) {
    const uint64_t places = wt_places(capacity, load);
    const uint64_t keys = (capacity > places / 2 ? capacity : places / 2 + 1) + 9;
    const uint64_t slot = (uint64_t)((key_bytes + 8 + 15) / 16) * 16;
    return places / 8 * 64 * 2 + keys * slot + places * 8 * 2 + (256 << 10);
}

static uint64_t hash_need(const struct wt_table_plan *plan) {
    return wt_hash_need(plan->capacity, plan->load, plan->key_bytes);
}

static void *hash_open(const struct wt_method_plan *plan, const struct wt_words *words) {
    return wt_hash_open(plan, plan->table->key_bytes, words);
}

static void hash_close(void *structure) { rte_hash_free(structure); }

static bool hash_one(const void *structure, const uint8_t *key, uint32_t *value) {
    void *data;
    if (rte_hash_lookup_data(structure, key, &data) < 0) return false;
    *value = (uint32_t)(uintptr_t)data;
    return true;
}

static bool hash_find(const void *structure, const struct wt_rule *rule, uint32_t *value) {
    return hash_one(structure, rule->key, value);
}

/* A key that is there takes the new data. */
static int hash_put(void *structure, const struct wt_rule *rule, const struct wt_words *words) {
    const int failed = rte_hash_add_key_data(structure, rule->key, (void *)(uintptr_t)rule->value);
    return failed ? wt_say(words, "rte_hash cannot add the key: %s", strerror(-failed)) : 0;
}

static int hash_remove(void *structure, const struct wt_rule *rule, const struct wt_words *words) {
    const int place = rte_hash_del_key(structure, rule->key);
    return place < 0 ? wt_say(words, "rte_hash cannot remove the key: %s", strerror(-place)) : 0;
}

static uint64_t hash_bulk(const struct wt_copy *copy, const uint8_t *const keys[], uint32_t count,
                          uint32_t values[]) {
    void *data[WT_TABLE_BURST];
    uint64_t hits = 0;
    rte_hash_lookup_bulk_data(copy->structure, (const void **)(uintptr_t)keys, count, &hits, data);
    if (hits == wt_all(count))
        for (uint32_t i = 0; i < count; ++i) values[i] = (uint32_t)(uintptr_t)data[i];
    else
        for (uint64_t left = hits; left; left &= left - 1)
            values[__builtin_ctzll(left)] = (uint32_t)(uintptr_t)data[__builtin_ctzll(left)];
    return hits;
}

static uint64_t hash_single(const struct wt_copy *copy, const uint8_t *const keys[], uint32_t count,
                            uint32_t values[]) {
    return wt_one_by_one(copy, keys, count, values, hash_one);
}

static uint64_t hash_places(const void *structure) {
    uint64_t places = 8;
    const uint64_t keys = (uint64_t)rte_hash_max_key_id(structure);
    while (places < keys) places *= 2;
    return places;
}

const struct wt_method wt_hash_method = {
    .id = WT_HASH,
    .kind = WT_EXACT,
    .name = "hash",
    .most_value = INT32_MAX - 1,
    .bulk = hash_bulk,
    .single = hash_single,
    .need = hash_need,
    .open = hash_open,
    .close = hash_close,
    .find = hash_find,
    .add = hash_put,
    .replace = hash_put,
    .remove = hash_remove,
    .places = hash_places,
};
