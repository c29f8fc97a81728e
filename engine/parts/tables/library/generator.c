/* Rules from their numbers: exact keys here, prefixes and ternary rules in files of their own. */
#include "parts/tables/library/generator.h"

/* Words of a key from its number: the first is another for every number, the rest follows from it. */
static void exact_key(const struct wt_generator *g, uint64_t i, uint8_t *key) {
    if (g->key_bytes == 4) {
        const uint32_t word = (uint32_t)(wt_scattered(&g->scatter, i) ^ mix64(g->seed));
        memcpy(key, &word, sizeof word);
        return;
    }
    uint64_t word = mix64(i ^ mix64(g->seed));
    for (uint32_t at = 0; at < g->key_bytes; at += 8) {
        memcpy(key + at, &word, g->key_bytes - at < 8 ? g->key_bytes - at : 8);
        word = mix64(word + 0x9e3779b97f4a7c15u);
    }
}

static int open_exact(struct wt_generator *g, const struct wt_words *words) {
    (void)words;
    g->most = g->key_bytes == 4 ? UINT64_C(1) << 32 : UINT64_C(1) << 62;
    wt_scatter_init(&g->scatter, UINT64_C(1) << 32);
    return 0;
}

static int open_prefixes(struct wt_generator *g, const struct wt_words *words) {
    if (g->key_bytes != 4 && g->key_bytes != 16)
        return wt_say(words, "prefixes are of 4 or 16 bytes, not %u", g->key_bytes);
    if (g->prefixes > WT_PREFIXES_MIXED) return wt_say(words, "prefixes = %u is none", g->prefixes);
    wt_scatter_init(&g->scatter, 1 << 24);
    g->most = wt_prefixes_most(g);
    return 0;
}

int wt_generator_open(struct wt_generator *g, uint32_t kind, uint32_t key_bytes, uint64_t count,
                      uint32_t prefixes, uint32_t masks, uint64_t seed, char *error, size_t error_size) {
    const struct wt_words words = {error, error_size};
    *g = (struct wt_generator){.kind = kind,
                               .key_bytes = key_bytes,
                               .prefixes = prefixes,
                               .masks = masks,
                               .count = count,
                               .seed = seed};
    if (kind < WT_EXACT || kind > WT_TERNARY) return wt_say(&words, "kind %u of a table is none", kind);
    const uint32_t widest = kind == WT_TERNARY ? WT_TERNARY_KEY_MOST : WT_KEY_MOST;
    if (key_bytes < 4 || key_bytes > widest || key_bytes % 4 != 0)
        return wt_say(&words, "a key of %u bytes: there are 4 to %u, in steps of 4", key_bytes, widest);
    const int failed = kind == WT_EXACT ? open_exact(g, &words)
                       : kind == WT_LPM ? open_prefixes(g, &words)
                                        : wt_ternary_open(g, &words);
    if (failed) return -1;
    if (count > g->most)
        return wt_say(&words, "%llu rules: there are only %llu of this kind with keys of %u bytes",
                      (unsigned long long)count, (unsigned long long)g->most, key_bytes);
    return 0;
}

struct wt_rule wt_generated_rule(const struct wt_generator *g, uint64_t i, uint8_t *key, uint8_t *mask) {
    if (g->kind == WT_LPM) return wt_generated_prefix(g, i, key);
    if (g->kind == WT_TERNARY) return wt_generated_ternary(g, i, key, mask);
    exact_key(g, i, key);
    return (struct wt_rule){.key = key, .value = (uint32_t)i};
}

void wt_generated_key(const struct wt_generator *g, uint64_t i, uint64_t *random, uint8_t *key) {
    if (g->kind == WT_LPM) return wt_generated_address(g, i, random, key);
    if (g->kind == WT_TERNARY) return wt_generated_match(g, i, random, key);
    exact_key(g, i, key);
}
