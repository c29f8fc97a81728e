/* LPM of IPv6 addresses by rte_lpm6: 24 bits, then blocks of 8 bits each, with next hops of 21 bits. It has
 * no prefix of length 0, so that stands beside it.
 *
 * Addresses are passed as `void *`: up to 24.07 its functions take 16 bytes, from 24.11 a structure of them.
 */
#include <rte_errno.h>
#include <rte_lpm6.h>
#include <rte_malloc.h>

#include "parts/tables/library/method.h"

enum {
    ADDRESS = 16,
    NEXT_HOP_MOST = (1 << 21) - 1, /* lib/lpm/rte_lpm6.c: `next_hop :21` */
    BLOCKS_MOST = 1 << 21,         /* RTE_LPM6_TBL8_MAX_NUM_GROUPS there */
    NO_DEFAULT = -1
};

struct lpm6 {
    struct rte_lpm6 *prefixes;
    int32_t fallback; /* of the prefix of length 0, NO_DEFAULT where there is none */
};

/* 2^24 entries of 4 bytes, 256 of them a block and what it keeps of each, an rte_hash of prefixes. */
static uint64_t lpm6_need(const struct wt_table_plan *plan) {
    return (UINT64_C(4) << 24) + (plan->deep_blocks + UINT64_C(512)) * 1100 + plan->capacity * 160 +
           (2 << 20);
}

static void lpm6_close(void *structure) {
    struct lpm6 *lpm = structure;
    if (!lpm) return;
    rte_lpm6_free(lpm->prefixes);
    rte_free(lpm);
}

static void *lpm6_open(const struct wt_method_plan *plan, const struct wt_words *words) {
    const uint32_t blocks = plan->deep_blocks < BLOCKS_MOST ? plan->deep_blocks : BLOCKS_MOST;
    const struct rte_lpm6_config config = {.max_rules = (uint32_t)plan->table->capacity,
                                           .number_tbl8s = blocks};
    struct lpm6 *lpm = rte_zmalloc_socket(NULL, sizeof *lpm, 64, plan->socket);
    if (lpm) lpm->prefixes = rte_lpm6_create(plan->name, plan->socket, &config);
    if (!lpm || !lpm->prefixes) {
        wt_say(words, "rte_lpm6 with %u prefixes, %u blocks of them longer than 24 bits: %s",
               config.max_rules, blocks, strerror(rte_errno));
        return rte_free(lpm), NULL;
    }
    lpm->fallback = NO_DEFAULT;
    return lpm;
}

static bool lpm6_find(const void *structure, const struct wt_rule *rule, uint32_t *value) {
    const struct lpm6 *lpm = structure;
    if (rule->length == 0) return *value = (uint32_t)lpm->fallback, lpm->fallback != NO_DEFAULT;
    return rte_lpm6_is_rule_present(lpm->prefixes, (const void *)rule->key, (uint8_t)rule->length, value) ==
           1;
}

/* A prefix that is there takes the new next hop. */
static int lpm6_put(void *structure, const struct wt_rule *rule, const struct wt_words *words) {
    struct lpm6 *lpm = structure;
    if (rule->length == 0) return lpm->fallback = (int32_t)rule->value, 0;
    const int failed =
        rte_lpm6_add(lpm->prefixes, (const void *)rule->key, (uint8_t)rule->length, rule->value);
    if (failed == -ENOSPC)
        return wt_say(words, "no room is left for a block of prefixes longer than 24 bits: more deep_blocks");
    return failed ? wt_say(words, "rte_lpm6 cannot add the prefix: %s", strerror(-failed)) : 0;
}

static int lpm6_remove(void *structure, const struct wt_rule *rule, const struct wt_words *words) {
    struct lpm6 *lpm = structure;
    if (rule->length == 0) return lpm->fallback = NO_DEFAULT, 0;
    const int failed = rte_lpm6_delete(lpm->prefixes, (const void *)rule->key, (uint8_t)rule->length);
    return failed ? wt_say(words, "rte_lpm6 cannot remove the prefix: %s", strerror(-failed)) : 0;
}

static uint64_t lpm6_bulk(const struct wt_copy *copy, const uint8_t *const keys[], uint32_t count,
                          uint32_t values[]) {
    const struct lpm6 *lpm = copy->structure;
    uint8_t addresses[WT_TABLE_BURST][ADDRESS];
    int32_t next_hops[WT_TABLE_BURST];
    uint64_t hits = 0;
    for (uint32_t i = 0; i < count; ++i) memcpy(addresses[i], keys[i], ADDRESS);
    rte_lpm6_lookup_bulk_func(lpm->prefixes, (void *)addresses, next_hops, count);
    for (uint32_t i = 0; i < count; ++i) {
        const int32_t found = next_hops[i] < 0 ? lpm->fallback : next_hops[i];
        values[i] = (uint32_t)found;
        hits |= (uint64_t)(found >= 0) << i;
    }
    return hits;
}

static bool lpm6_one(const void *structure, const uint8_t *key, uint32_t *value) {
    const struct lpm6 *lpm = structure;
    if (rte_lpm6_lookup(lpm->prefixes, (const void *)key, value) == 0) return true;
    return *value = (uint32_t)lpm->fallback, lpm->fallback != NO_DEFAULT;
}

static uint64_t lpm6_single(const struct wt_copy *copy, const uint8_t *const keys[], uint32_t count,
                            uint32_t values[]) {
    return wt_one_by_one(copy, keys, count, values, lpm6_one);
}

const struct wt_method wt_lpm6_method = {
    .id = WT_LPM_LIST,
    .kind = WT_LPM,
    .name = "lpm",
    .most_value = NEXT_HOP_MOST,
    .address_bytes = ADDRESS,
    .bulk = lpm6_bulk,
    .single = lpm6_single,
    .need = lpm6_need,
    .open = lpm6_open,
    .close = lpm6_close,
    .find = lpm6_find,
    .add = lpm6_put,
    .replace = lpm6_put,
    .remove = lpm6_remove,
};
