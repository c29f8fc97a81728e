// What a table does not take, and that it is as it was before.
#include <rte_malloc.h>

#include <climits>
#include <cstdlib>
#include <cstring>

#include "parts/tables/tests/tables_tools.h"

namespace wt::test::tables_refusals_test {

namespace {

const wt::test::needs_eal eal(1024);

bool says(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

own_rule prefix(uint32_t address, uint32_t length, uint32_t value) {
    own_rule rule;
    for (int shift = 24; shift >= 0; shift -= 8) rule.key.push_back(static_cast<uint8_t>(address >> shift));
    rule.length = length;
    rule.value = value;
    return rule;
}

own_rule flow(uint8_t byte, uint32_t value) {
    own_rule rule;
    rule.key.assign(16, byte);
    rule.value = value;
    return rule;
}

std::string refused(const wt_table_plan &plan, const std::vector<own_rule> &rules) {
    std::string text;
    EXPECT_FALSE(opened(plan, rules, &text));
    EXPECT_TRUE(says(text, "table flows: ")) << text;
    return text;
}

TEST(tables_refusals, plans) {
    wt_table_plan plan = plan_of(WT_HASH);
    plan.key_bytes = 6;
    EXPECT_TRUE(says(refused(plan, {}), "a key of 6 bytes"));
    plan = plan_of(WT_HASH);
    plan.capacity = 0;
    EXPECT_TRUE(says(refused(plan, {}), "a capacity of 0"));
    for (const double load : {0.0, -1.0, 1.01, 0.0 / 0.0}) {
        plan = plan_of(WT_HASH);
        plan.load = load;
        EXPECT_TRUE(says(refused(plan, {}), "load = "));
    }
    plan = plan_of(WT_HASH);
    plan.method = 77;
    EXPECT_TRUE(says(refused(plan, {}), "method 77"));
    plan = plan_of(WT_HASH);
    plan.method = WT_TSS;
    EXPECT_TRUE(says(refused(plan, {}), "another kind"));
    plan = plan_of(WT_HASH);
    plan.capacity = 1;
    EXPECT_TRUE(says(refused(plan, {flow(1, 1), flow(2, 2)}), "2 rules are more than its capacity of 1"));
}

TEST(tables_refusals, conflicting_rules) {
    EXPECT_TRUE(says(refused(plan_of(WT_HASH), {flow(1, 1), flow(2, 2), flow(1, 3)}), "rule 2 has the key"));
    for (const uint32_t method : {WT_FIB, WT_LPM_LIST}) {
        EXPECT_TRUE(says(refused(plan_of(method), {prefix(10u << 24, 8, 1), prefix(10u << 24, 8, 2)}),
                         "rule 1 has the key"));
        EXPECT_TRUE(opened(plan_of(method), {prefix(10u << 24, 8, 1), prefix(10u << 24, 9, 2)}));
    }
    own_rule ternary = flow(1, 1);
    ternary.mask.assign(16, 0xff);
    ternary.priority = 1;
    own_rule other = ternary;
    other.priority = 2;
    for (const uint32_t method : {WT_ACL, WT_LINEAR, WT_TSS})
        EXPECT_TRUE(says(refused(plan_of(method), {ternary, other}), "the same key and mask"));
}

TEST(tables_refusals, malformed_rules) {
    EXPECT_TRUE(says(refused(plan_of(WT_FIB), {prefix(10u << 24 | 1, 8, 1)}), "10.0.0.1/8 has bits behind"));
    EXPECT_TRUE(says(refused(plan_of(WT_FIB), {prefix(0, 33, 1)}), "33 bits"));
    EXPECT_TRUE(says(refused(plan_of(WT_LPM_LIST), {prefix(0, 0, 1)}), "no prefix of 0 bits"));
    EXPECT_TRUE(says(refused(plan_of(WT_LPM_LIST), {prefix(0, 1, 1u << 24)}), "can hold"));
    EXPECT_TRUE(says(refused(plan_of(WT_HASH), {flow(1, INT32_MAX)}), "can hold"));
    own_rule ternary = flow(1, 1);
    ternary.mask.assign(16, 0xfe);
    ternary.priority = 1;
    EXPECT_TRUE(says(refused(plan_of(WT_TSS), {ternary}), "bits where its mask has none"));
    ternary.mask.assign(16, 0xff);
    for (const uint32_t priority : {0u, 1u << 29}) {
        ternary.priority = priority;
        EXPECT_TRUE(says(refused(plan_of(WT_TSS), {ternary}), "priority"));
    }
}

std::string refused_of_file(const wt_table_plan &plan, const std::vector<own_rule> &rules) {
    listed all(plan, rules);
    all.rules.source = strdup("/home/me/rules.txt");
    all.rules.lines = static_cast<uint32_t *>(std::malloc(rules.size() * sizeof(uint32_t)));
    for (uint32_t i = 0; i < rules.size(); ++i) all.rules.lines[i] = 10 * (i + 1);
    char text[256] = "";
    const table_ptr table(wt_table_open(&plan, &all.rules, text, sizeof text));
    EXPECT_FALSE(table);
    return text;
}

TEST(tables_refusals, rules_of_a_file_are_named_by_its_lines) {
    const own_rule ten = prefix(10u << 24, 8, 1);
    EXPECT_EQ(refused_of_file(plan_of(WT_LPM_LIST), {ten, prefix(0, 0, 1)}),
              "table flows: /home/me/rules.txt:20: rte_lpm has no prefix of 0 bits: take method fib");
    EXPECT_TRUE(says(refused_of_file(plan_of(WT_LPM_LIST), {ten, prefix(0, 1, 1u << 24)}),
                     "/home/me/rules.txt:20: value 16777216 is more than"));
    EXPECT_TRUE(says(refused_of_file(plan_of(WT_FIB), {ten, ten}), "/home/me/rules.txt:20 has the key"));
}

TEST(tables_refusals, more_masks_than_tss_takes) {
    wt_table_plan plan = plan_of(WT_TSS, 4);
    plan.capacity = 5000;
    std::vector<own_rule> rules(4097);
    for (uint32_t i = 0; i < rules.size(); ++i) {
        rules[i].key.assign(4, 0);
        rules[i].mask = {0xff, 0, static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i)};
        rules[i].priority = i + 1;
    }
    EXPECT_TRUE(says(refused(plan, rules), "more than 4096 different masks: methods linear and acl"));
    rules.pop_back();
    EXPECT_TRUE(opened(plan, rules));
    plan.method = WT_LINEAR;
    rules.push_back(rules.back());
    rules.back().mask = {0xff, 1, 1, 1};
    EXPECT_TRUE(opened(plan, rules));
}

// IPv6: what rte_lpm6 can hold, the default route, which it has not, and fib, which looks IPv4 up.
TEST(tables_refusals, of_ipv6) {
    wt_table_plan plan = plan_of(WT_LPM_LIST);
    plan.key_bytes = 16;
    own_rule whole, all;
    whole.key.assign(16, 0xff);
    whole.length = 128;
    whole.value = wt_table_most_value(WT_LPM_LIST, 16);
    all.key.assign(16, 0);
    all.value = 7;
    const table_ptr table = opened(plan, {whole, all});
    wt_table_reader reader;
    ASSERT_EQ(wt_table_reader_open(table.get(), &reader), 0);
    EXPECT_EQ(looked_up(reader, {whole.key, std::vector<uint8_t>(16, 1)}),
              (std::vector<uint32_t>{(1u << 21) - 1, 7}));
    wt_table_reader_close(table.get(), &reader);
    ++whole.value;
    EXPECT_TRUE(says(refused(plan, {whole}), "can hold"));
    all.length = 129;
    EXPECT_TRUE(says(refused(plan, {all}), "there are 0 to 128"));
    plan.method = WT_FIB;
    EXPECT_TRUE(says(refused(plan, {}), "method fib takes addresses of 4"));
}

TEST(tables_refusals, the_largest_values_are_stored) {
    for (const uint32_t method : all_methods)
        for (const uint32_t entries : {WT_INLINE, WT_POINTED}) {
            wt_table_plan plan = plan_of(method);
            plan.entries = entries;
            own_rule rule = plan.kind == WT_LPM ? prefix(1u << 31, 32, 0) : flow(9, 0);
            if (plan.kind == WT_TERNARY) rule.mask.assign(16, 0xff), rule.priority = (1u << 29) - 1;
            for (const uint32_t value : {0u, wt_table_most_value(method, plan.key_bytes)}) {
                rule.value = value;
                const table_ptr table = opened(plan, {rule});
                wt_table_reader reader;
                ASSERT_EQ(wt_table_reader_open(table.get(), &reader), 0);
                EXPECT_EQ(looked_up(reader, {rule.key, std::vector<uint8_t>(plan.key_bytes, 7)}),
                          (std::vector<uint32_t>{value, no_value}));
                wt_table_reader_close(table.get(), &reader);
            }
        }
}

// More than EAL has: in words, and nothing of it is kept.
TEST(tables_refusals, tables_larger_than_memory) {
    for (const uint32_t method : {WT_HASH, WT_LINEAR, WT_TSS}) {
        wt_table_plan plan = plan_of(method, 48);
        plan.capacity = 1u << 24;
        for (int i = 0; i < 3; ++i) refused(plan, {});
        EXPECT_GT(wt_table_need(&plan), 1u << 30);
    }
    wt_table_plan plan = plan_of(WT_HASH);
    plan.capacity = 1u << 24;
    plan.entries = WT_POINTED;
    EXPECT_TRUE(says(refused(plan, {}), "entries"));
}

struct changing {
    wt_table_plan plan;
    table_ptr table;
    wt_table_reader reader;
    explicit changing(uint32_t method, uint32_t entries) : plan(plan_of(method)) {
        plan.access = WT_RCU;
        plan.entries = entries;
        plan.capacity = 8;
        table = opened(plan, {numbered(0), numbered(1), numbered(2)});
        EXPECT_EQ(wt_table_reader_open(table.get(), &reader), 0);
    }
    ~changing() { wt_table_reader_close(table.get(), &reader); }
    own_rule numbered(uint8_t i) const {
        if (plan.kind == WT_LPM) return prefix(static_cast<uint32_t>(10 + i) << 24, 8, i);
        own_rule rule = flow(static_cast<uint8_t>(10 + i), i);
        if (plan.kind == WT_TERNARY) rule.mask.assign(16, 0xff), rule.priority = i + 1u;
        return rule;
    }
    std::vector<uint32_t> values() const {
        std::vector<std::vector<uint8_t>> keys;
        for (uint8_t i = 0; i < 12; ++i) keys.push_back(numbered(i).key);
        return looked_up(reader, keys);
    }
};

TEST(tables_refusals, a_batch_that_fails_changes_nothing) {
    for (const uint32_t method : all_methods)
        for (const uint32_t entries : {WT_INLINE, WT_POINTED}) {
            changing c(method, entries);
            const std::vector<uint32_t> before = c.values();
            own_rule other = c.numbered(1), bad = c.numbered(2);
            other.value = 99;
            bad.length = c.plan.kind == WT_LPM ? 40 : bad.length;
            bad.value = INT32_MAX;
            const auto first = c.numbered(3);
            for (int twice = 0; twice < 2; ++twice) {  // each copy in its turn
                EXPECT_TRUE(says(changed(c.table.get(), {{WT_ADD, first},
                                                         {WT_REPLACE, other},
                                                         {WT_REMOVE, c.numbered(0)},
                                                         {WT_ADD, c.numbered(2)}}),
                                 "there already"));
                EXPECT_TRUE(
                    says(changed(c.table.get(), {{WT_REMOVE, c.numbered(0)}, {WT_REMOVE, c.numbered(0)}}),
                         "no such rule"));
                EXPECT_TRUE(says(changed(c.table.get(), {{WT_ADD, first}, {WT_REPLACE, c.numbered(7)}}),
                                 "no such rule"));
                EXPECT_NE(changed(c.table.get(), {{WT_ADD, first}, {WT_REPLACE, bad}}), "");
                EXPECT_TRUE(says(changed(c.table.get(), {{9, first}}), "kind 9"));
                std::vector<std::pair<uint32_t, own_rule>> many;
                for (uint8_t i = 3; i < 10; ++i) many.emplace_back(WT_ADD, c.numbered(i));
                EXPECT_TRUE(says(changed(c.table.get(), many), "full"));
                EXPECT_EQ(c.values(), before);
                EXPECT_EQ(changed(c.table.get(), {{WT_REPLACE, c.numbered(2)}}), "");
                EXPECT_EQ(c.values(), before);
            }
            // full and emptied many times over: no entry, key or block is lost
            for (int round = 0; round < 20; ++round) {
                std::vector<std::pair<uint32_t, own_rule>> in, out;
                for (uint8_t i = 3; i < 8; ++i)
                    in.emplace_back(WT_ADD, c.numbered(i)), out.emplace_back(WT_REMOVE, c.numbered(i));
                ASSERT_EQ(changed(c.table.get(), in), "");
                ASSERT_EQ(c.values()[7], 7u);
                ASSERT_EQ(changed(c.table.get(), out), "");
            }
            EXPECT_EQ(c.values(), before);
        }
}

// Whatever EAL's heap has left.
struct hoard {
    std::vector<void *> all;
    hoard() {
        for (size_t bytes = 64 << 20; bytes >= 64; bytes /= 2)
            while (void *room = rte_malloc(nullptr, bytes, 0)) all.push_back(room);
    }
    ~hoard() {
        for (void *room : all) rte_free(room);
    }
};

// Memory that comes back: what stood before a change that found none stands, and the next change is made.
TEST(tables_refusals, a_change_without_memory_changes_nothing) {
    changing c(WT_ACL, WT_INLINE);
    std::vector<uint32_t> values = c.values();
    for (int failures = 1; failures < 4; ++failures) {
        {
            const hoard everything;
            for (int i = 0; i < failures; ++i)
                EXPECT_TRUE(says(changed(c.table.get(), {{WT_ADD, c.numbered(3)}}), "rte_acl builds no"));
            EXPECT_EQ(c.values(), values);
        }
        for (int twice = 0; twice < 2; ++twice) {  // each copy in its turn
            EXPECT_EQ(changed(c.table.get(), {{WT_ADD, c.numbered(3)}}), "");
            EXPECT_EQ(c.values()[3], 3u);
            EXPECT_EQ(changed(c.table.get(), {{WT_REMOVE, c.numbered(3)}}), "");
            EXPECT_EQ(c.values(), values);
        }
    }
}

TEST(tables_refusals, a_table_without_rcu_cannot_change) {
    const table_ptr table = opened(plan_of(WT_HASH), {flow(1, 1)});
    EXPECT_TRUE(says(changed(table.get(), {{WT_ADD, flow(2, 2)}}), "open it with access rcu"));
}

TEST(tables_refusals, more_readers_than_the_limit) {
    wt_table_plan plan = plan_of(WT_HASH);
    plan.access = WT_RCU;
    const table_ptr table = opened(plan, {});
    std::vector<wt_table_reader> readers(WT_TABLE_READERS + 1);
    for (int i = 0; i < WT_TABLE_READERS; ++i) ASSERT_EQ(wt_table_reader_open(table.get(), &readers[i]), 0);
    EXPECT_EQ(wt_table_reader_open(table.get(), &readers.back()), -1);
    wt_table_reader_close(table.get(), &readers[5]);
    EXPECT_EQ(wt_table_reader_open(table.get(), &readers[5]), 0);
    for (int i = 0; i < WT_TABLE_READERS; ++i) wt_table_reader_close(table.get(), &readers[i]);
}

}  // namespace

}  // namespace wt::test::tables_refusals_test
