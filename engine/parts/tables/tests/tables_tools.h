// Tables for tests: random rules, and a naive oracle.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/random.h"
#include "parts/tables/library/keys.h"
#include "parts/tables/library/table.h"
#include "suite.h"
#include "test_tools.h"

namespace wt::test {

// One rule, with memory of its own.
struct own_rule {
    std::vector<uint8_t> key, mask;  // mask: ternary alone
    uint32_t length = 0, priority = 0, value = 0;

    wt_rule view() const {
        return {key.data(), mask.empty() ? nullptr : mask.data(), length, priority, value};
    }
    auto place() const { return std::tie(key, mask, length); }
};

// Of 8 bits from `bit` on, those that a prefix of `length` bits has.
inline uint8_t prefix_byte(uint32_t length, uint32_t bit) {
    return length >= bit + 8 ? 0xff : length <= bit ? 0 : static_cast<uint8_t>(0xff << (bit + 8 - length));
}

inline bool matches(uint32_t kind, const own_rule &rule, const std::vector<uint8_t> &key) {
    for (uint32_t i = 0; i < key.size(); ++i) {
        const uint8_t mask = kind == WT_EXACT ? 0xff
                             : kind == WT_LPM ? prefix_byte(rule.length, 8 * i)
                                              : rule.mask[i];
        if ((key[i] ^ rule.key[i]) & mask) return false;
    }
    return true;
}

constexpr uint32_t no_value = UINT32_MAX;

// The oracle: every rule, one by one.
inline uint32_t naive(uint32_t kind, const std::vector<own_rule> &rules, const std::vector<uint8_t> &key) {
    const own_rule *best = nullptr;
    for (const own_rule &rule : rules)
        if (matches(kind, rule, key) && (!best || rule.length > best->length ||
                                         (rule.length == best->length && rule.priority > best->priority)))
            best = &rule;
    return best ? best->value : no_value;
}

// Keys and masks of few values, so that rules overlap, contain each other and are hit.
inline uint8_t few(uint64_t *random) {
    static constexpr uint8_t bytes[] = {0x00, 0x01, 0x80, 0xff, 0x0f, 0x7e};
    return bytes[random_below(random, std::size(bytes))];
}

inline std::vector<uint8_t> any_key(uint32_t bytes, uint64_t *random) {
    std::vector<uint8_t> key(bytes);
    for (uint8_t &byte : key) byte = few(random);
    return key;
}

inline own_rule any_rule(uint32_t kind, uint32_t bytes, uint32_t shortest, uint32_t priority,
                         uint64_t *random) {
    own_rule rule;
    rule.key = any_key(bytes, random);
    rule.value = static_cast<uint32_t>(random_below(random, 1u << 21));
    if (kind == WT_LPM) {
        // a short prefix is written over much of the 64 MiB of DIR-24-8: one in ten
        const uint32_t from = random_below(random, 10) ? 12 : shortest;
        rule.length = from + static_cast<uint32_t>(random_below(random, 8 * bytes + 1 - from));
        for (uint32_t bit = rule.length; bit < 8 * bytes; ++bit)
            rule.key[bit / 8] = static_cast<uint8_t>(rule.key[bit / 8] & ~(0x80 >> bit % 8));
    }
    if (kind == WT_TERNARY) {
        rule.priority = priority;
        for (uint8_t &byte : rule.key) {
            rule.mask.push_back(random_below(random, 3) ? 0 : few(random));
            byte &= rule.mask.back();
        }
    }
    return rule;
}

// `count` rules or as many as chance finds, no two alike, every one with a priority of its own.
inline std::vector<own_rule> any_rules(const wt_table_plan &plan, uint32_t count, uint64_t *random) {
    std::vector<own_rule> rules;
    std::set<std::tuple<std::vector<uint8_t>, std::vector<uint8_t>, uint32_t>> seen;
    for (uint32_t i = 0; i < count; ++i) {
        own_rule rule = any_rule(plan.kind, plan.key_bytes, plan.method == WT_LPM_LIST && plan.key_bytes == 4,
                                 i + 1, random);
        if (seen.insert(rule.place()).second) rules.push_back(std::move(rule));
    }
    for (size_t i = rules.size(); i > 1; --i) std::swap(rules[i - 1], rules[random_below(random, i)]);
    return rules;
}

// The rules as a table takes them.
struct listed {
    wt_rules rules{};
    listed(const wt_table_plan &plan, const std::vector<own_rule> &from) {
        char text[256];
        EXPECT_EQ(wt_rules_open(&rules, plan.kind, plan.key_bytes, from.size(), text, sizeof text), 0)
            << text;
        for (const own_rule &rule : from) {
            const uint64_t i = rules.count++;
            std::memcpy(rules.keys + i * plan.key_bytes, rule.key.data(), plan.key_bytes);
            if (rules.masks) std::memcpy(rules.masks + i * plan.key_bytes, rule.mask.data(), plan.key_bytes);
            if (rules.lengths) rules.lengths[i] = static_cast<uint8_t>(rule.length);
            if (rules.priorities) rules.priorities[i] = rule.priority;
            rules.values[i] = rule.value;
        }
    }
    ~listed() { wt_rules_close(&rules); }
    listed(const listed &) = delete;
    listed &operator=(const listed &) = delete;
};

struct closes {
    void operator()(wt_table *table) const { wt_table_close(table); }
};
using table_ptr = std::unique_ptr<wt_table, closes>;

inline wt_table_plan plan_of(uint32_t method, uint32_t key_bytes = 16) {
    wt_table_plan plan{};
    plan.name = "flows";
    plan.method = method;
    plan.kind = method == WT_HASH                           ? WT_EXACT
                : method == WT_FIB || method == WT_LPM_LIST ? WT_LPM
                                                            : WT_TERNARY;
    plan.key_bytes = plan.kind == WT_LPM ? 4 : key_bytes;
    plan.numa_socket = -1;
    plan.capacity = 1024;
    plan.load = 0.5;
    plan.seed = 7;
    return plan;
}

inline table_ptr opened(const wt_table_plan &plan, const std::vector<own_rule> &rules,
                        std::string *said = nullptr) {
    char text[256] = "";
    const listed all(plan, rules);
    table_ptr table(wt_table_open(&plan, &all.rules, text, sizeof text));
    if (said)
        *said = text;
    else
        EXPECT_TRUE(table) << text;
    return table;
}

inline std::string changed(wt_table *table, const std::vector<std::pair<uint32_t, own_rule>> &changes) {
    std::vector<wt_change> all;
    for (const auto &[kind, rule] : changes) all.push_back({kind, rule.view()});
    char text[256] = "";
    const int failed =
        wt_table_change(table, all.data(), static_cast<uint32_t>(all.size()), text, sizeof text);
    EXPECT_EQ(failed != 0, text[0] != '\0');
    return text;
}

// Looks keys up in bursts of `burst`; what has no rule gives no_value.
inline std::vector<uint32_t> looked_up(const wt_table_reader &reader,
                                       const std::vector<std::vector<uint8_t>> &keys,
                                       uint32_t burst = WT_TABLE_BURST) {
    std::vector<uint32_t> responses;
    for (size_t at = 0; at < keys.size(); at += burst) {
        const uint32_t count = static_cast<uint32_t>(std::min<size_t>(burst, keys.size() - at));
        const uint8_t *pointers[WT_TABLE_BURST];
        uint32_t values[WT_TABLE_BURST];
        for (uint32_t i = 0; i < count; ++i) pointers[i] = keys[at + i].data();
        const uint64_t hits = wt_table_lookup(&reader, pointers, count, values);
        EXPECT_EQ(count < 64 ? hits >> count : 0, 0u);
        for (uint32_t i = 0; i < count; ++i) responses.push_back(hits >> i & 1 ? values[i] : no_value);
    }
    return responses;
}

constexpr uint32_t all_methods[] = {WT_HASH, WT_FIB, WT_LPM_LIST, WT_ACL, WT_LINEAR, WT_TSS};

}  // namespace wt::test
