/* LPM by rte_lpm: DIR-24-8 as well, with next hops of 24 bits, no prefix of length 0, and a list of rules
 * that is searched from end to end whenever one is added. */
#include <rte_errno.h>
#include <rte_lpm.h>

#include "parts/tables/library/method.h"

static uint64_t lpm_need(const struct wt_table_plan *plan) {
    return (UINT64_C(4) << 24) + (plan->deep_blocks + UINT64_C(512)) * 1100 + plan->capacity * 8 + (1 << 20);
}

static void *lpm_open(const struct wt_method_plan *plan, const struct wt_words *words) {
    const struct rte_lpm_config config = {.max_rules = (uint32_t)plan->table->capacity,
                                          .number_tbl8s = plan->deep_blocks};
    struct rte_lpm *lpm = rte_lpm_create(plan->name, plan->socket, &config);
    if (!lpm)
        wt_say(words, "rte_lpm with %u prefixes, %u blocks of them longer than 24 bits: %s", config.max_rules,
               config.number_tbl8s, strerror(rte_errno));
    return lpm;
}

static void lpm_close(void *structure) { rte_lpm_free(structure); }

static bool lpm_find(const void *structure, const struct wt_rule *rule, uint32_t *value) {
    return rte_lpm_is_rule_present((struct rte_lpm *)(uintptr_t)structure, wt_address(rule->key),
                                   (uint8_t)rule->length, value) == 1;
}

/* A prefix that is there takes the new next hop. */
static int lpm_put(void *structure, const struct wt_rule *rule, const struct wt_words *words) {
    const int failed = rte_lpm_add(structure, wt_address(rule->key), (uint8_t)rule->length, rule->value);
    return failed ? wt_say(words, "rte_lpm cannot add the prefix: %s", strerror(-failed)) : 0;
}

static int lpm_remove(void *structure, const struct wt_rule *rule, const struct wt_words *words) {
    const int failed = rte_lpm_delete(structure, wt_address(rule->key), (uint8_t)rule->length);
    return failed ? wt_say(words, "rte_lpm cannot remove the prefix: %s", strerror(-failed)) : 0;
}

static uint64_t lpm_bulk(const struct wt_copy *copy, const uint8_t *const keys[], uint32_t count,
                         uint32_t values[]) {
    uint32_t addresses[WT_TABLE_BURST];
    uint64_t hits = 0;
    for (uint32_t i = 0; i < count; ++i) addresses[i] = wt_address(keys[i]);
    rte_lpm_lookup_bulk((struct rte_lpm *)copy->structure, addresses, values, count);
    uint32_t found = RTE_LPM_LOOKUP_SUCCESS; /* mostly all: see fib.c */
    for (uint32_t i = 0; i < count; ++i) found &= values[i];
    if (!found)
        for (uint32_t i = 0; i < count; ++i) hits |= (uint64_t)(values[i] >> 24 & 1) << i;
    for (uint32_t i = 0; i < count; ++i) values[i] &= 0xffffff;
    if (found) return wt_all(count);
    return hits;
}

static bool lpm_one(const void *structure, const uint8_t *key, uint32_t *value) {
    return rte_lpm_lookup((struct rte_lpm *)(uintptr_t)structure, wt_address(key), value) == 0;
}

static uint64_t lpm_single(const struct wt_copy *copy, const uint8_t *const keys[], uint32_t count,
                           uint32_t values[]) {
    return wt_one_by_one(copy, keys, count, values, lpm_one);
}

_Static_assert(RTE_LPM_LOOKUP_SUCCESS == 1 << 24, "the bit above the next hop");

const struct wt_method wt_lpm_method = {
    .id = WT_LPM_LIST,
    .kind = WT_LPM,
    .name = "lpm",
    .most_value = 0xffffff,
    .shortest_prefix = 1,
    .address_bytes = 4,
    .bulk = lpm_bulk,
    .single = lpm_single,
    .need = lpm_need,
    .open = lpm_open,
    .close = lpm_close,
    .find = lpm_find,
    .add = lpm_put,
    .replace = lpm_put,
    .remove = lpm_remove,
};
