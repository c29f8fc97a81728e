/* Generated prefixes: all of 24 bits as the literature measures, or of many lengths as routers have them. */
#include "parts/tables/library/generator.h"

enum { CLASSES = 7, PATTERN = 64, TAG_BITS = 3 };

/* Of 64 pairs, so many are of this class. Half of all prefixes are of 24 bits and a third of 23, as in tables
 * of BGP; few are longer. The class is the address's first three bits, so that classes never overlap; 7 is
 * unused. */
static const struct {
    uint8_t outer, inner; /* bits of a pair's two prefixes */
    uint8_t first, pairs; /* places in the pattern */
} classes[CLASSES] = {
    {16, 20, 0, 1},   {18, 22, 1, 2},   {20, 24, 3, 4},  {21, 24, 7, 5},
    {22, 24, 12, 10}, {23, 24, 22, 40}, {24, 28, 62, 2},
};

uint64_t wt_prefixes_most(const struct wt_generator *g) {
    if (g->prefixes == WT_PREFIXES_24) return 1 << 24;
    uint64_t most = UINT64_MAX;
    for (int c = 0; c < CLASSES; ++c) {
        const uint64_t pairs = (UINT64_C(1) << (classes[c].outer - TAG_BITS)) / classes[c].pairs * PATTERN;
        if (pairs < most) most = pairs;
    }
    return 2 * most;
}

static int class_of(uint64_t pair) {
    int c = CLASSES - 1;
    while (classes[c].first > pair % PATTERN) --c;
    return c;
}

/* The outer prefix of a pair, as an address in the host's order. */
static uint32_t outer_prefix(const struct wt_generator *g, uint64_t pair, int c) {
    const uint32_t bits = classes[c].outer - TAG_BITS;
    struct wt_scatter scatter;
    wt_scatter_init(&scatter, UINT64_C(1) << bits);
    const uint64_t rank = pair / PATTERN * classes[c].pairs + (pair % PATTERN - classes[c].first);
    const uint64_t prefix = wt_scattered(&scatter, rank) ^ (mix64(g->seed + (uint64_t)c) & scatter.mask);
    return (uint32_t)c << (32 - TAG_BITS) | (uint32_t)prefix << (32 - classes[c].outer);
}

/* The bits in which the inner prefix goes on: it has all of them set. */
static uint32_t inner_bits(int c) {
    return (UINT32_MAX >> classes[c].outer) & ~(UINT32_MAX >> classes[c].inner);
}

/* Prefixes of IPv6 are those of IPv4 behind the first 24 bits of a registry's block: so those of 24 bits are
 * of 48, as sites have them. */
static const uint8_t registry[] = {0x20, 0x01, 0x0d};
enum { WIDE = 16, MOVED = sizeof registry, BEHIND = MOVED + 4 };

void wt_widen(uint8_t *key) {
    memmove(key + MOVED, key, 4);
    memcpy(key, registry, MOVED);
    memset(key + BEHIND, 0, WIDE - BEHIND);
}

void wt_draw_rest(uint64_t *random, uint8_t *key) {
    const uint64_t low = random_next(random), high = random_next(random);
    memcpy(key + BEHIND, &high, sizeof high);
    memcpy(key + WIDE - sizeof low, &low, sizeof low);
}

static struct wt_rule prefix_of_ipv4(const struct wt_generator *g, uint64_t i, uint8_t *key) {
    struct wt_rule rule = {.key = key, .length = 24, .value = (uint32_t)i};
    if (g->prefixes == WT_PREFIXES_24) {
        wt_store32(key, (uint32_t)(wt_scattered(&g->scatter, i) ^ (mix64(g->seed) & 0xffffff)) << 8);
        return rule;
    }
    const int c = class_of(wt_pair(i));
    const bool inner = i % 2;
    wt_store32(key, outer_prefix(g, wt_pair(i), c) | (inner ? inner_bits(c) : 0));
    rule.length = inner ? classes[c].inner : classes[c].outer;
    return rule;
}

struct wt_rule wt_generated_prefix(const struct wt_generator *g, uint64_t i, uint8_t *key) {
    struct wt_rule rule = prefix_of_ipv4(g, i, key);
    if (g->key_bytes != WIDE) return rule;
    wt_widen(key);
    rule.length += 8 * MOVED;
    return rule;
}

void wt_generated_address(const struct wt_generator *g, uint64_t i, uint64_t *random, uint8_t *key) {
    const struct wt_rule rule = prefix_of_ipv4(g, i, key);
    uint32_t host = (uint32_t)random_next(random) & (uint32_t)(UINT64_C(0xffffffff) >> rule.length);
    if (g->prefixes == WT_PREFIXES_MIXED && i % 2 == 0) {
        const uint32_t inner = inner_bits(class_of(wt_pair(i)));
        if ((host & inner) == inner) host &= ~(inner & -inner); /* not into the inner prefix */
    }
    uint32_t address;
    memcpy(&address, key, sizeof address);
    wt_store32(key, __builtin_bswap32(address) | host);
    if (g->key_bytes != WIDE) return;
    wt_widen(key);
    wt_draw_rest(random, key);
}
