// Keys for rules of a file: one that matches each rule, and some that match none. Which rule wins is looked
// up once, at open.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/available_memory.h"
#include "core/random.h"
#include "parts/tables/library/best_rule.h"
#include "parts/tables/library/keys.h"

namespace {

constexpr uint64_t misses_wanted = 65536;
constexpr uint64_t attempts_a_miss = 64;

void draw(uint8_t *key, uint32_t bytes, uint64_t *random) {
    for (uint32_t i = 0; i < bytes; i += 4) {
        const uint32_t word = static_cast<uint32_t>(random_next(random));
        std::memcpy(key + i, &word, sizeof word);
    }
}

// A key that a rule matches: its own, with chance in the open bits.
void key_of(const wt_rules &rules, uint64_t i, uint8_t *key, uint64_t *random) {
    const std::string mask = wt::mask_of(rules, i);
    draw(key, rules.key_bytes, random);
    for (uint32_t b = 0; b < rules.key_bytes; ++b)
        key[b] = static_cast<uint8_t>((key[b] & ~mask[b]) | wt_rules_at(&rules, i).key[b]);
}

// Anywhere first. Where the rules cover nearly all, a miss is easier to find beside a rule.
bool find_miss(const wt_rules &rules, const wt::best_rule &best, uint8_t *key, uint64_t *random) {
    for (uint64_t attempt = 0; attempt < attempts_a_miss; ++attempt) {
        draw(key, rules.key_bytes, random);
        if (attempt % 2 && rules.count) {
            key_of(rules, random_below(random, rules.count), key, random);
            const uint64_t bit = random_below(random, uint64_t{8} * rules.key_bytes);
            key[bit / 8] = static_cast<uint8_t>(key[bit / 8] ^ 1u << bit % 8);
        }
        if (best.of(key) == WT_NO_RULE) return true;
    }
    return false;
}

int take(wt_keys *keys, const wt_rules &rules, double hit, const wt_words *words) {
    wt_found_keys &found = keys->found;
    found.hit_count = rules.count;
    found.miss_count = hit < 1 ? misses_wanted : 0;
    const uint64_t bytes = rules.count * (rules.key_bytes + 8) + found.miss_count * rules.key_bytes;
    // a rule takes about 100 bytes more while the best of each is looked for
    const uint64_t machine = available_memory();
    if (bytes + rules.count * 100 < machine) {
        found.hits = static_cast<uint8_t *>(std::malloc(rules.count * rules.key_bytes + 1));
        found.rules = static_cast<uint64_t *>(std::malloc(rules.count * 8 + 1));
        found.misses = static_cast<uint8_t *>(std::malloc(found.miss_count * rules.key_bytes + 1));
        if (found.hits && found.rules && found.misses) return 0;
    }
    return wt_say(words, "keys for %llu rules take %llu bytes; this machine has %llu to give",
                  static_cast<unsigned long long>(rules.count), static_cast<unsigned long long>(bytes),
                  static_cast<unsigned long long>(machine));
}

}  // namespace

int wt_keys_of_rules(wt_keys *keys, const wt_rules *rules, double hit, uint32_t popularity, double exponent,
                     uint64_t seed, char *error, size_t error_size) {
    const wt_words words{error, error_size};
    std::memset(keys, 0, sizeof *keys);
    keys->key_bytes = rules->key_bytes;
    if (wt_keys_open(keys, rules->count, hit, popularity, exponent, &words) != 0) return -1;
    if (take(keys, *rules, hit, &words) != 0) return -1;
    const wt::best_rule best(*rules);
    wt_found_keys &found = keys->found;
    uint64_t random = mix64(seed);
    for (uint64_t i = 0; i < rules->count; ++i) {
        uint8_t *key = found.hits + i * rules->key_bytes;
        key_of(*rules, i, key, &random);
        found.rules[i] = best.of(key);
    }
    for (uint64_t i = 0; i < found.miss_count; ++i)
        if (!find_miss(*rules, best, found.misses + i * rules->key_bytes, &random)) {
            found.miss_count = i;
            if (i > 0) break;  // those that were found have to do
            return wt_say(&words, "hit = %g cannot be met: no key was found that the rules do not match",
                          hit);
        }
    return 0;
}

void wt_keys_close(wt_keys *keys) {
    std::free(keys->found.hits);
    std::free(keys->found.rules);
    std::free(keys->found.misses);
    keys->found = {};
}
