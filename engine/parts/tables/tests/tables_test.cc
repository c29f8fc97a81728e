// Every method of looking up against the oracle that reads every rule one by one, while entries change.
#include <algorithm>

#include "parts/tables/tests/tables_tools.h"

namespace wt::test::tables_test {

namespace {

const wt::test::needs_eal eal(1024);

struct way {
    uint32_t method, lookup, access, entries;
};

// Each method with every pair of the other three; all of the cross in the long tier.
std::vector<way> all_ways() {
    std::vector<way> ways;
    for (const uint32_t method : all_methods)
        for (const bool single : {false, true})
            for (const bool rcu : {false, true})
                for (const bool pointed : {false, true})
                    if (is_long() || (single + rcu + pointed) % 2 == 0)
                        ways.push_back({method, single ? WT_SINGLE : WT_BULK, rcu ? WT_RCU : WT_POINTER,
                                        pointed ? WT_POINTED : WT_INLINE});
    return ways;
}

class tables : public testing::TestWithParam<way> {
  protected:
    wt_table_plan plan(uint32_t key_bytes = 16) const {
        wt_table_plan p = plan_of(GetParam().method, key_bytes);
        p.lookup = GetParam().lookup;
        p.access = GetParam().access;
        p.entries = GetParam().entries;
        return p;
    }
};

// Keys that rules have, with a few bits changed in some, and keys by chance.
std::vector<std::vector<uint8_t>> keys_near(const std::vector<own_rule> &rules, uint32_t bytes,
                                            uint64_t *random) {
    std::vector<std::vector<uint8_t>> keys;
    for (int i = 0; i < 300; ++i) {
        std::vector<uint8_t> key = any_key(bytes, random);
        if (!rules.empty() && i % 3) {
            const own_rule &rule = rules[random_below(random, rules.size())];
            for (uint32_t b = 0; b < bytes; ++b)
                key[b] = rule.mask.empty() ? rule.key[b]
                                           : static_cast<uint8_t>((key[b] & ~rule.mask[b]) | rule.key[b]);
            if (rule.length)
                for (uint32_t bit = rule.length; bit < 8 * bytes; ++bit)
                    if (random_below(random, 2))
                        key[bit / 8] = static_cast<uint8_t>(key[bit / 8] | 0x80 >> bit % 8);
        }
        if (i % 3 == 2) key[random_below(random, bytes)] = few(random);
        keys.push_back(key);
    }
    return keys;
}

void expect_agreement(const wt_table_plan &plan, const wt_table_reader &reader,
                      const std::vector<own_rule> &rules, uint64_t *random) {
    const auto keys = keys_near(rules, plan.key_bytes, random);
    const uint32_t burst = 1 + static_cast<uint32_t>(random_below(random, 64));
    const std::vector<uint32_t> responses = looked_up(reader, keys, burst);
    for (size_t i = 0; i < keys.size(); ++i)
        ASSERT_EQ(responses[i], naive(plan.kind, rules, keys[i])) << "key " << i << " of bursts of " << burst;
}

// Makes a few changes to the table and to the rules alike.
void change_some(wt_table *table, const wt_table_plan &plan, std::vector<own_rule> *rules, uint32_t round,
                 uint64_t *random) {
    std::vector<std::pair<uint32_t, own_rule>> changes;
    for (uint32_t i = 0; i < 1 + random_below(random, 12); ++i) {
        const uint64_t what = random_below(random, 3);
        if (what == 0 || rules->empty()) {
            own_rule rule = any_rule(plan.kind, plan.key_bytes, 1, 5000 + 16 * round + i, random);
            const auto same = [&](const own_rule &other) { return other.place() == rule.place(); };
            if (std::any_of(rules->begin(), rules->end(), same)) continue;
            changes.emplace_back(WT_ADD, rule);
            rules->push_back(rule);
            continue;
        }
        own_rule &rule = (*rules)[random_below(random, rules->size())];
        rule.value = static_cast<uint32_t>(random_below(random, 1u << 21));
        changes.emplace_back(what == 1 ? WT_REPLACE : WT_REMOVE, rule);
        if (what == 1) continue;
        std::swap(rule, rules->back());
        rules->pop_back();
    }
    ASSERT_EQ(changed(table, changes), "");
}

TEST_P(tables, agree_with_the_oracle_while_entries_change) {
    uint64_t random = 1 + GetParam().method;
    for (const uint32_t key_bytes : {4u, 16u, 20u}) {
        wt_table_plan p = plan(key_bytes);
        if (p.method == WT_LPM_LIST && key_bytes == 16) p.key_bytes = 16;  // IPv6
        if (p.key_bytes != key_bytes) continue;
        for (uint32_t count : {0u, 1u, 9u, 150u}) {
            if (p.method == WT_ACL) count = std::min(count, 30u);  // rte_acl runs out of tries
            std::vector<own_rule> rules = any_rules(p, count, &random);
            const table_ptr table = opened(p, rules);
            ASSERT_TRUE(table);
            wt_table_reader reader;
            ASSERT_EQ(wt_table_reader_open(table.get(), &reader), 0);
            expect_agreement(p, reader, rules, &random);
            for (uint32_t round = 0; p.access == WT_RCU && round < (p.method == WT_ACL ? 4u : 12u); ++round) {
                change_some(table.get(), p, &rules, round, &random);
                expect_agreement(p, reader, rules, &random);
            }
            wt_table_state state;
            wt_table_describe(table.get(), &state);
            EXPECT_EQ(state.rules, rules.size());
            wt_table_reader_close(table.get(), &reader);
        }
    }
}

void expect_the_stated_memory(const wt_table_plan &p) {
    uint64_t random = 3;
    const auto rules = any_rules(p, p.method == WT_ACL ? 20 : 500, &random);
    {
        opened(p, rules);
    }  // DPDK keeps a little of its first use
    for (int i = 0; i < 2; ++i) {
        const table_ptr table = opened(p, rules);
        wt_table_state state;
        wt_table_describe(table.get(), &state);
        EXPECT_GT(state.bytes, 0u);
        EXPECT_LE(state.bytes, wt_table_need(&p));
        EXPECT_EQ(state.copies, p.access == WT_RCU ? 2u : 1u);
    }
}

TEST_P(tables, use_the_stated_memory_and_free_it) {
    wt_table_plan p = plan();
    expect_the_stated_memory(p);
    if (p.method != WT_LPM_LIST) return;
    p.key_bytes = 16;          // IPv6
    p.deep_blocks = 16 * 500;  // by chance hardly two share a block
    expect_the_stated_memory(p);
}

// rte_fib of 22.11 overwrites all there is where longer prefixes tile one that ends with the last address.
TEST(edge, prefixes_at_the_end_of_the_address_space) {
    wt_table_plan p = plan_of(WT_FIB);
    p.access = WT_RCU;
    std::vector<own_rule> all;
    std::vector<std::vector<uint8_t>> keys;
    for (const auto &[address, length] :
         {std::pair{0u, 1u}, {0x80000000u, 2u}, {0xc0000000u, 2u}, {0x80000000u, 1u}, {0u, 0u}}) {
        const uint32_t network = __builtin_bswap32(address);
        own_rule rule;
        rule.key.resize(4);
        std::memcpy(rule.key.data(), &network, 4);
        rule.length = length;
        rule.value = static_cast<uint32_t>(all.size());
        all.push_back(rule);
        keys.push_back(rule.key);
    }
    std::vector<size_t> order = {0, 1, 2, 3, 4};
    for (int turn = 0; turn < 120; ++turn, std::next_permutation(order.begin(), order.end())) {
        if (turn % 10 != 0) continue;  // a short prefix is written over 64 MiB
        std::vector<own_rule> rules;
        const table_ptr table = opened(p, rules);
        wt_table_reader reader;
        ASSERT_EQ(wt_table_reader_open(table.get(), &reader), 0);
        const auto agree = [&] {
            const std::vector<uint32_t> responses = looked_up(reader, keys);
            for (size_t i = 0; i < keys.size(); ++i)
                ASSERT_EQ(responses[i], naive(WT_LPM, rules, keys[i])) << i;
        };
        for (const size_t i : order) {
            rules.push_back(all[i]);
            ASSERT_EQ(changed(table.get(), {{WT_ADD, all[i]}}), "");
            agree();
        }
        for (const size_t i : {order[4], order[1]}) {
            std::erase_if(rules, [&](const own_rule &rule) {
                return rule.key == all[i].key && rule.length == all[i].length;
            });
            ASSERT_EQ(changed(table.get(), {{WT_REMOVE, all[i]}}), "");
            agree();
        }
        wt_table_reader_close(table.get(), &reader);
    }
}

std::string name_of(const testing::TestParamInfo<way> &info) {
    static const char *const methods[] = {"", "hash", "fib", "lpm", "acl", "linear", "tss"};
    return std::string(methods[info.param.method]) + (info.param.lookup == WT_BULK ? "_bulk" : "_single") +
           (info.param.access == WT_RCU ? "_rcu" : "_pointer") +
           (info.param.entries == WT_POINTED ? "_pointed" : "");
}

INSTANTIATE_TEST_SUITE_P(all, tables, testing::ValuesIn(all_ways()), name_of);

}  // namespace

}  // namespace wt::test::tables_test
