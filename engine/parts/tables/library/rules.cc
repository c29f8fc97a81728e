// Lists of rules: their memory, their checks, and filling one from a generator.
#include "parts/tables/library/rules.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/available_memory.h"
#include "parts/tables/library/words.h"

namespace {

bool only_inside(const uint8_t *key, const uint8_t *mask, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; ++i)
        if (key[i] & ~mask[i]) return false;
    return true;
}

bool only_in_prefix(const wt_rule *rule, uint32_t bytes) {
    uint32_t at = rule->length / 8;
    if (rule->length % 8 && rule->key[at++] & 0xff >> rule->length % 8) return false;
    return std::all_of(rule->key + at, rule->key + bytes, [](uint8_t byte) { return byte == 0; });
}

int check_prefix(const wt_rule *rule, uint32_t bytes, const wt_words *words) {
    if (rule->length > 8 * bytes)
        return wt_say(words, "a prefix of %u bits: there are 0 to %u", rule->length, 8 * bytes);
    if (only_in_prefix(rule, bytes)) return 0;
    char address[INET6_ADDRSTRLEN];
    inet_ntop(bytes == 4 ? AF_INET : AF_INET6, rule->key, address, sizeof address);
    return wt_say(words, "%s/%u has bits behind its prefix: write them as 0", address, rule->length);
}

}  // namespace

int wt_rule_check(uint32_t kind, uint32_t key_bytes, const wt_rule *rule, char *error, size_t error_size) {
    const wt_words words{error, error_size};
    if (kind == WT_LPM) return check_prefix(rule, key_bytes, &words);
    if (kind != WT_TERNARY) return 0;
    if (rule->priority < 1 || rule->priority >= 1u << 29)
        return wt_say(&words, "priority %u is not between 1 and 2^29 - 1", rule->priority);
    if (!only_inside(rule->key, rule->mask, key_bytes))
        return wt_say(&words, "the key has bits where its mask has none: write them as 0");
    return 0;
}

int wt_rules_open(wt_rules *rules, uint32_t kind, uint32_t key_bytes, uint64_t count, char *error,
                  size_t error_size) {
    *rules = {};
    rules->kind = kind;
    rules->key_bytes = key_bytes;
    const bool ternary = kind == WT_TERNARY, lpm = kind == WT_LPM;
    const uint64_t bytes = count * (key_bytes * (ternary ? 2u : 1u) + (ternary ? 8u : lpm ? 5u : 4u));
    const uint64_t machine = available_memory();
    if (bytes < machine) {
        rules->keys = static_cast<uint8_t *>(std::malloc(count * key_bytes + 1));
        rules->values = static_cast<uint32_t *>(std::malloc(count * 4 + 1));
        if (ternary) rules->masks = static_cast<uint8_t *>(std::malloc(count * key_bytes + 1));
        if (ternary) rules->priorities = static_cast<uint32_t *>(std::malloc(count * 4 + 1));
        if (lpm) rules->lengths = static_cast<uint8_t *>(std::malloc(count + 1));
        if (rules->keys && rules->values && (!ternary || (rules->masks && rules->priorities)) &&
            (!lpm || rules->lengths))
            return 0;
        wt_rules_close(rules);
    }
    const wt_words words{error, error_size};
    return wt_say(&words, "%llu rules take %llu bytes; this machine has %llu to give",
                  static_cast<unsigned long long>(count), static_cast<unsigned long long>(bytes),
                  static_cast<unsigned long long>(machine));
}

void wt_rules_close(wt_rules *rules) {
    std::free(rules->keys);
    std::free(rules->masks);
    std::free(rules->lengths);
    std::free(rules->priorities);
    std::free(rules->values);
    std::free(rules->source);
    std::free(rules->lines);
    *rules = {};
}

bool wt_rules_clash(const wt_rules *rules, uint64_t pair[2]) {
    const auto compare = [rules](uint32_t a, uint32_t b) {
        const wt_rule x = wt_rules_at(rules, a), y = wt_rules_at(rules, b);
        int order = std::memcmp(x.key, y.key, rules->key_bytes);
        if (order == 0 && x.mask) order = std::memcmp(x.mask, y.mask, rules->key_bytes);
        return order ? order : static_cast<int>(x.length) - static_cast<int>(y.length);
    };
    std::vector<uint32_t> order(rules->count);
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        const int unlike = compare(a, b);
        return unlike ? unlike < 0 : a < b;
    });
    const auto same = std::adjacent_find(order.begin(), order.end(),
                                         [&](uint32_t a, uint32_t b) { return compare(a, b) == 0; });
    if (same == order.end()) return false;
    pair[0] = *same;
    pair[1] = *(same + 1);
    return true;
}

int wt_rules_generate(const wt_generator *generator, wt_rules *rules, char *error, size_t error_size) {
    const uint32_t bytes = generator->key_bytes;
    if (wt_rules_open(rules, generator->kind, bytes, generator->count, error, error_size) != 0) return -1;
    uint8_t no_mask[WT_KEY_MOST];
    for (uint64_t i = 0; i < generator->count; ++i) {
        const wt_rule rule = wt_generated_rule(generator, i, rules->keys + i * bytes,
                                               rules->masks ? rules->masks + i * bytes : no_mask);
        if (rules->lengths) rules->lengths[i] = static_cast<uint8_t>(rule.length);
        if (rules->priorities) rules->priorities[i] = rule.priority;
        rules->values[i] = rule.value;
    }
    rules->count = generator->count;
    return 0;
}
