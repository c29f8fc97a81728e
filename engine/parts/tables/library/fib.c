/* LPM by rte_fib: DIR-24-8 with next hops of 4 bytes, of which 31 bits are the value. */
#include <errno.h>
#include <rte_errno.h>
#include <rte_fib.h>
#include <rte_rib.h>

#include "parts/tables/library/method.h"

enum { FIB_MISS = INT32_MAX }; /* the largest next hop there is */

/* 2^24 next hops of 4 bytes, 256 of them a deep block, two nodes of the tree of prefixes a rule. */
static uint64_t fib_need(const struct wt_table_plan *plan) {
    return (UINT64_C(4) << 24) + (plan->deep_blocks + UINT64_C(512)) * 1100 + plan->capacity * 2 * 256 +
           (4 << 20);
}

static void *fib_open(const struct wt_method_plan *plan, const struct wt_words *words) {
    struct rte_fib_conf conf = {
        .type = RTE_FIB_DIR24_8,
        .default_nh = FIB_MISS,
        .max_routes = (int)plan->table->capacity + 1,
        .dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = plan->deep_blocks},
    };
    struct rte_fib *fib = rte_fib_create(plan->name, plan->socket, &conf);
    if (!fib)
        wt_say(words, "rte_fib with %d prefixes, %u blocks of them longer than 24 bits: %s", conf.max_routes,
               plan->deep_blocks, strerror(rte_errno));
    return fib;
}

static void fib_close(void *structure) { rte_fib_free(structure); }

/* rte_fib looks addresses up, not prefixes: those stand in the tree beside it. */
static bool fib_find(const void *structure, const struct wt_rule *rule, uint32_t *value) {
    struct rte_rib *rib = rte_fib_get_rib((struct rte_fib *)(uintptr_t)structure);
    const struct rte_rib_node *node = rte_rib_lookup_exact(rib, wt_address(rule->key), (uint8_t)rule->length);
    uint64_t next_hop;
    if (!node || rte_rib_get_nh(node, &next_hop) != 0) return false;
    *value = (uint32_t)next_hop;
    return true;
}

static int put(struct rte_fib *fib, uint32_t address, uint32_t length, uint64_t next_hop,
               const struct wt_words *words) {
    const int failed = rte_fib_add(fib, address, (uint8_t)length, next_hop);
    if (failed == -ENOSPC && length > 24)
        return wt_say(words,
                      "no room is left for a block with prefixes longer than 24 bits: more deep_blocks");
    return failed ? wt_say(words, "rte_fib cannot add the prefix: %s", strerror(-failed)) : 0;
}

static int take_out(struct rte_fib *fib, uint32_t address, uint32_t length, const struct wt_words *words) {
    const int failed = rte_fib_delete(fib, address, (uint8_t)length);
    return failed ? wt_say(words, "rte_fib cannot remove the prefix: %s", strerror(-failed)) : 0;
}

/* Prefixes that end with the last address there is, inside another one that does, by length. */
struct edge {
    uint64_t next_hops[33];
    bool there[33];
};

static uint32_t edge_address(uint32_t length) { return UINT32_MAX << (32 - length); }

/* Where longer prefixes leave nothing open of one that ends with the last address (0/1 and 128/1 of the
 * default route), rte_fib of 22.11 runs off that end when the outer one is added, changed or taken out, and
 * writes it over the whole table. So what ends there inside of it is taken out first and put back after:
 * something is open then. Readers see neither: see table.h. */
static int lift_edge(struct rte_fib *fib, uint32_t length, struct edge *edge, const struct wt_words *words) {
    for (uint32_t inner = 32; inner > length; --inner) {
        const struct rte_rib_node *node =
            rte_rib_lookup_exact(rte_fib_get_rib(fib), edge_address(inner), (uint8_t)inner);
        edge->there[inner] = node && rte_rib_get_nh(node, &edge->next_hops[inner]) == 0;
        if (edge->there[inner] && take_out(fib, edge_address(inner), inner, words) != 0) return -1;
    }
    return 0;
}

static int lower_edge(struct rte_fib *fib, uint32_t length, const struct edge *edge,
                      const struct wt_words *words) {
    for (uint32_t inner = length + 1; inner <= 32; ++inner)
        if (edge->there[inner] && put(fib, edge_address(inner), inner, edge->next_hops[inner], words) != 0)
            return -1;
    return 0;
}

static bool at_edge(const struct wt_rule *rule) {
    const uint64_t addresses = UINT64_C(1) << (32 - rule->length);
    return wt_address(rule->key) + addresses == UINT64_C(1) << 32;
}

/* A prefix that is there takes the new next hop. */
static int fib_put(void *structure, const struct wt_rule *rule, const struct wt_words *words) {
    struct edge edge;
    const bool lifted = at_edge(rule);
    if (lifted && lift_edge(structure, rule->length, &edge, words) != 0) return -1;
    const int failed = put(structure, wt_address(rule->key), rule->length, rule->value, words);
    return lifted && lower_edge(structure, rule->length, &edge, words) != 0 ? -1 : failed;
}

static int fib_remove(void *structure, const struct wt_rule *rule, const struct wt_words *words) {
    struct edge edge;
    const bool lifted = at_edge(rule);
    if (lifted && lift_edge(structure, rule->length, &edge, words) != 0) return -1;
    const int failed = take_out(structure, wt_address(rule->key), rule->length, words);
    return lifted && lower_edge(structure, rule->length, &edge, words) != 0 ? -1 : failed;
}

static uint64_t fib_bulk(const struct wt_copy *copy, const uint8_t *const keys[], uint32_t count,
                         uint32_t values[]) {
    uint32_t addresses[WT_TABLE_BURST];
    uint64_t next_hops[WT_TABLE_BURST], hits = 0;
    for (uint32_t i = 0; i < count; ++i) addresses[i] = wt_address(keys[i]);
    rte_fib_lookup_bulk(copy->structure, addresses, next_hops, (int)count);
    uint32_t missed = 0; /* mostly none: a loop without a shift is one that the compiler vectorises */
    for (uint32_t i = 0; i < count; ++i) {
        values[i] = (uint32_t)next_hops[i];
        missed |= values[i] == FIB_MISS;
    }
    if (!missed) return wt_all(count);
    for (uint32_t i = 0; i < count; ++i) hits |= (uint64_t)(values[i] != FIB_MISS) << i;
    return hits;
}

static bool fib_one(const void *structure, const uint8_t *key, uint32_t *value) {
    uint32_t address = wt_address(key);
    uint64_t next_hop;
    rte_fib_lookup_bulk((struct rte_fib *)(uintptr_t)structure, &address, &next_hop, 1);
    *value = (uint32_t)next_hop;
    return *value != FIB_MISS;
}

static uint64_t fib_single(const struct wt_copy *copy, const uint8_t *const keys[], uint32_t count,
                           uint32_t values[]) {
    return wt_one_by_one(copy, keys, count, values, fib_one);
}

const struct wt_method wt_fib_method = {
    .id = WT_FIB,
    .kind = WT_LPM,
    .name = "fib",
    .most_value = FIB_MISS - 1,
    .address_bytes = 4,
    .bulk = fib_bulk,
    .single = fib_single,
    .need = fib_need,
    .open = fib_open,
    .close = fib_close,
    .find = fib_find,
    .add = fib_put,
    .replace = fib_put,
    .remove = fib_remove,
};
