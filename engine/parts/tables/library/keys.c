/* Drawing keys: of a generator, or those that were found for the rules of a file. */
#include "parts/tables/library/keys.h"

#include "parts/tables/library/generator.h"

int wt_keys_open(struct wt_keys *keys, uint64_t rules, double hit, uint32_t popularity, double exponent,
                 const struct wt_words *words) {
    if (!(hit >= 0 && hit <= 1)) return wt_say(words, "hit = %g is not between 0 and 1", hit);
    if (hit > 0 && rules == 0) return wt_say(words, "hit = %g cannot be met: there is no rule to hit", hit);
    if (popularity > WT_ZIPF) return wt_say(words, "popularity %u is none", popularity);
    keys->popularity = popularity;
    keys->hit = hit;
    keys->count = rules;
    wt_scatter_init(&keys->scatter, rules);
    if (popularity == WT_ZIPF && rules != 0 && !wt_zipf_init(&keys->zipf, rules, exponent))
        return wt_say(words, "exponent = %g is not above 0 and at most 64", exponent);
    return 0;
}

int wt_keys_of_generator(struct wt_keys *keys, const struct wt_generator *generator, double hit,
                         uint32_t popularity, double exponent, char *error, size_t error_size) {
    const struct wt_words words = {error, error_size};
    memset(keys, 0, sizeof *keys);
    keys->key_bytes = generator->key_bytes;
    keys->generator = *generator;
    if (hit < 1 && !wt_generator_misses(generator))
        return wt_say(&words, "hit = %g cannot be met: the table's rules match every key there is", hit);
    return wt_keys_open(keys, generator->count, hit, popularity, exponent, &words);
}

static uint64_t draw_rank(const struct wt_keys *keys, uint64_t *random) {
    if (keys->popularity == WT_ZIPF)
        return wt_scattered(&keys->scatter, wt_zipf_draw(&keys->zipf, random) - 1);
    return random_below(random, keys->count);
}

static uint64_t draw_found(const struct wt_keys *keys, bool hits, uint64_t *random, uint8_t *key) {
    const struct wt_found_keys *found = &keys->found;
    const uint64_t i = hits ? draw_rank(keys, random) : random_below(random, found->miss_count);
    memcpy(key, (hits ? found->hits : found->misses) + i * keys->key_bytes, keys->key_bytes);
    return hits ? found->rules[i] : WT_NO_RULE;
}

uint64_t wt_keys_draw(const struct wt_keys *keys, uint64_t *random, uint8_t *key) {
    const bool hits = wt_unit(random) < keys->hit;
    if (keys->generator.kind == 0) return draw_found(keys, hits, random, key);
    if (!hits) {
        wt_generated_miss(&keys->generator, random, key);
        return WT_NO_RULE;
    }
    const uint64_t rule = draw_rank(keys, random);
    wt_generated_key(&keys->generator, rule, random, key);
    return rule;
}
