/* Keys that no generated rule matches. */
#include "parts/tables/library/generator.h"

bool wt_generator_misses(const struct wt_generator *g) {
    return g->kind == WT_TERNARY || (g->kind == WT_LPM && g->prefixes == WT_PREFIXES_MIXED) ||
           g->count < g->most;
}

void wt_generated_miss(const struct wt_generator *g, uint64_t *random, uint8_t *key) {
    if (g->kind == WT_TERNARY || (g->kind == WT_LPM && g->prefixes == WT_PREFIXES_MIXED)) {
        for (uint32_t at = 0; at < g->key_bytes; at += 4) wt_store32(key + at, (uint32_t)random_next(random));
        key[0] |= g->kind == WT_TERNARY ? 0x80 : 0xe0; /* an unused number or class */
        if (g->kind != WT_LPM || g->key_bytes == 4) return;
        wt_widen(key);
        wt_draw_rest(random, key);
        return;
    }
    wt_generated_key(g, g->count + random_below(random, g->most - g->count), random, key);
}
