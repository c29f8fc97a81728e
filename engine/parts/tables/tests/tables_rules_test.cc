// Rules from a file and from a generator, and the keys that hit them.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "parts/tables/library/best_rule.h"
#include "parts/tables/tests/tables_tools.h"

namespace wt::test::tables_rules_test {

namespace {

class rules_file : public testing::Test {
  protected:
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("wt-rules-" + std::to_string(getpid()));
    wt_rules rules{};
    ~rules_file() override {
        wt_rules_close(&rules);
        std::filesystem::remove(path);
    }
    std::string read(const std::string &text, uint32_t kind, uint32_t key_bytes = 4) {
        std::ofstream(path, std::ios::binary) << text;
        char error[512] = "";
        wt_rules_close(&rules);
        const int failed = wt_rules_read(path.c_str(), kind, key_bytes, &rules, error, sizeof error);
        EXPECT_EQ(failed != 0, error[0] != '\0');
        const std::string said = error;
        return said.substr(0, path.string().size()) == path.string() ? said.substr(path.string().size())
                                                                     : said;
    }
};

TEST_F(rules_file, exact) {
    ASSERT_EQ(read("# flows\n0a000001, 7\r\n\n FFffFFff ,0 # last", WT_EXACT), "");
    ASSERT_EQ(rules.count, 2u);
    EXPECT_EQ(std::memcmp(rules.keys, "\x0a\0\0\x01\xff\xff\xff\xff", 8), 0);
    EXPECT_EQ(rules.values[0], 7u);
    EXPECT_EQ(rules.values[1], 0u);
    EXPECT_EQ(read("0a000001,7\n0a00001,7", WT_EXACT),
              ":2: \"0a00001\" is not a key: it has 7 digits, not 8");
    EXPECT_EQ(read("0a00000g,7", WT_EXACT),
              ":1: \"0a00000g\" is not a key: \"0g\" is not a hexadecimal byte");
    EXPECT_EQ(read("0a000001 7", WT_EXACT),
              ":1: \"0a000001 7\" is not a rule: it has no comma before the value");
    EXPECT_EQ(read("0a000001,-7", WT_EXACT), ":1: \"-7\" is not a value of 0 to 2147483646");
    EXPECT_EQ(read("0a000001,", WT_EXACT), ":1: \"\" is not a value of 0 to 2147483646");
    EXPECT_EQ(read("0a000001,1\n#\n0a000002,1\n0A000001,2\n", WT_EXACT),
              ":4: this key stands in line 1 already");
}

TEST_F(rules_file, prefixes) {
    ASSERT_EQ(read("10.0.0.0/8,1\n10.1.0.0/255.255.0.0,2\n0.0.0.0/0,3\n", WT_LPM), "");
    EXPECT_EQ(rules.count, 3u);
    EXPECT_EQ(rules.lengths[0], 8);
    EXPECT_EQ(rules.lengths[1], 16);
    EXPECT_EQ(rules.lengths[2], 0);
    EXPECT_EQ(std::memcmp(rules.keys, "\x0a\0\0\0\x0a\x01\0\0\0\0\0\0", 12), 0);
    EXPECT_NE(read("10.0.0.0/255.0.255.0,1", WT_LPM).find("\"255.0.255.0\" is not contiguous"),
              std::string::npos);
    EXPECT_EQ(read("10.0.0.1/8,1", WT_LPM), ":1: 10.0.0.1/8 has bits behind its prefix: write them as 0");
    EXPECT_EQ(read("10.0.0.0/8,1\n10.0.0.0/255.0.0.0,2", WT_LPM), ":2: this prefix stands in line 1 already");
    for (const char *wrong : {"10.0.0.0/33,1", "10.0.0/8,1", "10.0.0.0.0/8,1", "10.0.0.256/32,1",
                              "10.0.0.0,1", "/8,1", "10.0.0.0/,1", "10..0.0/8,1", "10.0.0.0/-1,1"})
        EXPECT_EQ(read(wrong, WT_LPM).substr(0, 4), ":1: ") << wrong;
    EXPECT_EQ(read("", WT_LPM, 8), "prefixes have 4 or 16 bytes, not 8");
}

TEST_F(rules_file, prefixes_of_ipv6) {
    ASSERT_EQ(read("2001:db8::/32,1\n::/0,2\n::ffff:10.0.0.1/128,3\n", WT_LPM, 16), "");
    EXPECT_EQ(rules.count, 3u);
    EXPECT_EQ(rules.lengths[0], 32);
    EXPECT_EQ(rules.lengths[2], 128);
    EXPECT_EQ(std::memcmp(rules.keys, "\x20\x01\x0d\xb8\0", 5), 0);
    EXPECT_EQ(std::memcmp(rules.keys + 42, "\xff\xff\x0a\0\0\x01", 6), 0);
    EXPECT_EQ(read("2001:db8::1/32,1", WT_LPM, 16),
              ":1: 2001:db8::1/32 has bits behind its prefix: write them as 0");
    EXPECT_EQ(read("2001:db8::/28,1", WT_LPM, 16),
              ":1: 2001:db8::/28 has bits behind its prefix: write them as 0");
    for (const char *wrong : {"::/129,1", "10.0.0.0/8,1", "fd00::1::/64,1", "fd00::,1", "/8,1", "fd00::/,1",
                              "fd00::/-1,1", "fd00::/ffff::,1"})
        EXPECT_EQ(read(wrong, WT_LPM, 16).substr(0, 4), ":1: ") << wrong;
}

TEST_F(rules_file, ternary) {
    ASSERT_EQ(read("0a000000/ff000000,1\n0a000000/ffff0000,2\n", WT_TERNARY), "");
    EXPECT_GT(rules.priorities[0], rules.priorities[1]);
    EXPECT_EQ(std::memcmp(rules.masks, "\xff\0\0\0\xff\xff\0\0", 8), 0);
    EXPECT_EQ(read("0a000001/ff000000,1", WT_TERNARY),
              ":1: the key has bits where its mask has none: write them as 0");
    EXPECT_EQ(read("0a000000,1", WT_TERNARY), ":1: \"0a000000\" has no mask, as in 0a000000/ff000000");
    EXPECT_EQ(read("00000000/00000000,1\n00000000/00000000,2", WT_TERNARY),
              ":2: this key with this mask stands in line 1 already");
}

TEST_F(rules_file, of_which_another_is_the_source) {
    ASSERT_EQ(read("from /home/me/my, routes.txt\n10.0.0.0/8,1,7\n0.0.0.0/0,2,9\n", WT_LPM), "");
    ASSERT_EQ(rules.count, 2u);
    EXPECT_STREQ(rules.source, "/home/me/my, routes.txt");
    EXPECT_EQ(rules.lines[0], 7u);
    EXPECT_EQ(rules.lines[1], 9u);
    EXPECT_EQ(read("from /home/me/r.txt\n0a000001,1,5\n0a000001,2,6\n", WT_EXACT),
              "/home/me/r.txt:6: this key stands in line 5 already");
    EXPECT_EQ(read("from /home/me/r.txt\n0a000001,1\n", WT_EXACT), ":2: \"1\" has no line behind it");
    ASSERT_EQ(read("0a000001,1\n\n0a000002,1\n", WT_EXACT), "");
    EXPECT_EQ(rules.source, path);
    EXPECT_EQ(rules.lines[1], 3u);
}

TEST_F(rules_file, that_is_malformed) {
    char error[512];
    EXPECT_EQ(wt_rules_read("/nowhere/at/all", WT_EXACT, 4, &rules, error, sizeof error), -1);
    EXPECT_STREQ(error, "/nowhere/at/all: No such file or directory");
    EXPECT_EQ(read("", WT_EXACT), "");
    EXPECT_EQ(rules.count, 0u);
    EXPECT_EQ(wt_rules_read("/tmp", WT_EXACT, 4, &rules, error, sizeof error), -1);
}

struct made {
    uint32_t kind, key_bytes;
    uint64_t count;
    uint32_t prefixes, masks;
};

class generated : public testing::TestWithParam<made> {
  protected:
    wt_generator generator{};
    wt_rules rules{};
    char error[256] = "";
    generated() {
        const made m = GetParam();
        EXPECT_EQ(wt_generator_open(&generator, m.kind, m.key_bytes, m.count, m.prefixes, m.masks, 11, error,
                                    sizeof error),
                  0)
            << error;
        EXPECT_EQ(wt_rules_generate(&generator, &rules, error, sizeof error), 0) << error;
    }
    ~generated() override { wt_rules_close(&rules); }
};

TEST_P(generated, rules_are_well_formed_and_distinct) {
    uint64_t pair[2];
    EXPECT_FALSE(wt_rules_clash(&rules, pair)) << pair[0] << " " << pair[1];
    std::set<uint32_t> priorities;
    std::set<std::string> masks;
    for (uint64_t i = 0; i < rules.count; ++i) {
        const wt_rule rule = wt_rules_at(&rules, i);
        ASSERT_EQ(wt_rule_check(rules.kind, rules.key_bytes, &rule, error, sizeof error), 0) << error;
        masks.insert(wt::mask_of(rules, i));
        ASSERT_TRUE(!rules.priorities || priorities.insert(rule.priority).second);
    }
    if (rules.kind == WT_TERNARY) {
        EXPECT_EQ(masks.size(), std::min<uint64_t>(GetParam().masks, rules.count));
    }
    if (rules.kind == WT_LPM && GetParam().prefixes == WT_PREFIXES_MIXED) {
        EXPECT_GT(masks.size(), 4u);
    }
}

// Against the search among all rules: a drawn key hits the rule that it was drawn for, and a miss none.
TEST_P(generated, keys_hit_the_rule_they_were_drawn_for) {
    const wt::best_rule best(rules);
    std::vector<uint8_t> key(rules.key_bytes);
    uint64_t random = 5;
    for (const double hit : {1.0, 0.5, 0.0}) {
        wt_keys keys;
        ASSERT_EQ(wt_keys_of_generator(&keys, &generator, hit, WT_UNIFORM, 1, error, sizeof error), 0)
            << error;
        uint64_t hits = 0;
        std::set<uint64_t> drawn;
        for (int i = 0; i < 4000; ++i) {
            const uint64_t rule = wt_keys_draw(&keys, &random, key.data());
            ASSERT_EQ(rule, best.of(key.data()));
            hits += rule != WT_NO_RULE;
            drawn.insert(rule);
        }
        EXPECT_NEAR(static_cast<double>(hits), hit * 4000, hit == 0.5 ? 200 : 0);
        if (hit > 0) {
            EXPECT_GT(drawn.size(), std::min<uint64_t>(rules.count, 1500) * 8 / 10);
        }
        wt_keys_close(&keys);
    }
}

// The same seed gives the same rules, another one others.
TEST_P(generated, the_seed_determines_the_rules) {
    const made m = GetParam();
    wt_generator other;
    uint8_t a[WT_KEY_MOST], b[WT_KEY_MOST], mask[WT_KEY_MOST];
    int same = 0;
    for (const uint64_t seed : {11u, 12u}) {
        ASSERT_EQ(wt_generator_open(&other, m.kind, m.key_bytes, m.count, m.prefixes, m.masks, seed, error,
                                    sizeof error),
                  0);
        for (uint64_t i = 0; i < std::min<uint64_t>(m.count, 50); ++i) {
            wt_generated_rule(&generator, i, a, mask);
            wt_generated_rule(&other, i, b, mask);
            same += std::memcmp(a, b, m.key_bytes) == 0;
        }
        if (seed == 11) {
            EXPECT_EQ(same, static_cast<int>(std::min<uint64_t>(m.count, 50)));
        }
    }
    EXPECT_LE(same, static_cast<int>(std::min<uint64_t>(m.count, 50)) + 5);
}

INSTANTIATE_TEST_SUITE_P(all, generated,
                         testing::Values(made{WT_EXACT, 4, 3000, 0, 0}, made{WT_EXACT, 16, 3000, 0, 0},
                                         made{WT_EXACT, 20, 1, 0, 0}, made{WT_EXACT, 64, 100, 0, 0},
                                         made{WT_LPM, 4, 3000, WT_PREFIXES_24, 0},
                                         made{WT_LPM, 4, 20001, WT_PREFIXES_MIXED, 0},
                                         made{WT_LPM, 16, 3000, WT_PREFIXES_24, 0},
                                         made{WT_LPM, 16, 20001, WT_PREFIXES_MIXED, 0},
                                         made{WT_TERNARY, 16, 5001, 0, 64}, made{WT_TERNARY, 16, 3000, 0, 1},
                                         made{WT_TERNARY, 4, 1000, 0, 2}, made{WT_TERNARY, 8, 3000, 0, 8},
                                         made{WT_TERNARY, 48, 3000, 0, 200}));

TEST(generator, refuses_more_rules_than_it_can_make) {
    wt_generator g;
    char error[256] = "";
    EXPECT_EQ(wt_generator_open(&g, WT_LPM, 4, (1u << 24) + 1, WT_PREFIXES_24, 0, 1, error, sizeof error),
              -1);
    EXPECT_EQ(wt_generator_open(&g, WT_LPM, 4, 1u << 24, WT_PREFIXES_24, 0, 1, error, sizeof error), 0);
    wt_keys keys;
    EXPECT_EQ(wt_keys_of_generator(&keys, &g, 0.9, WT_UNIFORM, 1, error, sizeof error), -1);
    EXPECT_NE(std::string(error).find("cannot be met"), std::string::npos);
    EXPECT_EQ(wt_generator_open(&g, WT_LPM, 4, 1000000, WT_PREFIXES_MIXED, 0, 1, error, sizeof error), 0)
        << error;
    EXPECT_EQ(wt_generator_open(&g, WT_TERNARY, 16, 1000000, 0, 64, 1, error, sizeof error), 0) << error;
    EXPECT_EQ(wt_generator_open(&g, WT_EXACT, 16, 10000000, 0, 0, 1, error, sizeof error), 0) << error;
    EXPECT_EQ(wt_generator_open(&g, WT_TERNARY, 4, 1000000, 0, 64, 1, error, sizeof error), -1);
    EXPECT_EQ(wt_generator_open(&g, WT_TERNARY, 16, 10, 0, 3, 1, error, sizeof error), -1);
    EXPECT_EQ(wt_generator_open(&g, WT_TERNARY, 16, 10, 0, 0, 1, error, sizeof error), -1);
    EXPECT_EQ(wt_generator_open(&g, WT_EXACT, 7, 10, 0, 0, 1, error, sizeof error), -1);
    EXPECT_EQ(wt_generator_open(&g, 9, 4, 10, 0, 0, 1, error, sizeof error), -1);
}

// Zipf by rank, the ranks scattered: the hottest rule takes 1 / H(n) of the draws.
TEST(keys, zipf) {
    wt_generator g;
    char error[256];
    ASSERT_EQ(wt_generator_open(&g, WT_EXACT, 16, 100, 0, 0, 1, error, sizeof error), 0);
    wt_keys keys;
    ASSERT_EQ(wt_keys_of_generator(&keys, &g, 1, WT_ZIPF, 1, error, sizeof error), 0);
    std::map<uint64_t, int> drawn;
    uint64_t random = 3;
    uint8_t key[16];
    for (int i = 0; i < 20000; ++i) ++drawn[wt_keys_draw(&keys, &random, key)];
    double harmonic = 0;
    for (int i = 1; i <= 100; ++i) harmonic += 1.0 / i;
    int most = 0;
    for (const auto &[rule, times] : drawn) most = std::max(most, times);
    EXPECT_NEAR(most, 20000 / harmonic, 300);
    EXPECT_EQ(wt_keys_of_generator(&keys, &g, 1, WT_ZIPF, 0, error, sizeof error), -1);
    EXPECT_EQ(wt_keys_of_generator(&keys, &g, 1.5, WT_UNIFORM, 0, error, sizeof error), -1);
    EXPECT_EQ(wt_keys_of_generator(&keys, &g, std::nan(""), WT_UNIFORM, 0, error, sizeof error), -1);
}

// Rules of a file overlap as they like: what a key hits is looked up, and is what the naive oracle says.
TEST(keys, of_rules_drawn_evenly) {
    uint64_t random = 9;
    char error[256];
    for (const uint32_t method : {WT_HASH, WT_FIB, WT_TSS}) {
        const wt_table_plan plan = plan_of(method);
        std::vector<own_rule> own = any_rules(plan, 100, &random);
        std::erase_if(own, [](const own_rule &rule) { return rule.key.size() == 4 && rule.length == 0; });
        const listed all(plan, own);
        const double hit = method == WT_TSS ? 1 : 0.7;  // masks by chance leave nothing to miss
        wt_keys keys;
        ASSERT_EQ(wt_keys_of_rules(&keys, &all.rules, hit, WT_UNIFORM, 1, 4, error, sizeof error), 0)
            << error;
        std::vector<uint8_t> key(plan.key_bytes);
        for (int i = 0; i < 1000; ++i) {
            const uint64_t rule = wt_keys_draw(&keys, &random, key.data());
            ASSERT_EQ(rule == WT_NO_RULE ? no_value : own[rule].value, naive(plan.kind, own, key));
        }
        wt_keys_close(&keys);
    }
}

TEST(keys, that_cannot_be_generated_are_refused) {
    char error[256];
    const wt_table_plan plan = plan_of(WT_FIB);
    own_rule everything;
    everything.key.assign(4, 0);
    const listed all(plan, {everything}), none(plan, {});
    wt_keys keys;
    EXPECT_EQ(wt_keys_of_rules(&keys, &all.rules, 0.5, WT_UNIFORM, 1, 4, error, sizeof error), -1);
    EXPECT_NE(std::string(error).find("hit = 0.5 cannot be met"), std::string::npos);
    wt_keys_close(&keys);
    EXPECT_EQ(wt_keys_of_rules(&keys, &all.rules, 1, WT_UNIFORM, 1, 4, error, sizeof error), 0);
    wt_keys_close(&keys);
    EXPECT_EQ(wt_keys_of_rules(&keys, &none.rules, 0.5, WT_UNIFORM, 1, 4, error, sizeof error), -1);
    EXPECT_EQ(wt_keys_of_rules(&keys, &none.rules, 0, WT_UNIFORM, 1, 4, error, sizeof error), 0);
    wt_keys_close(&keys);
}

}  // namespace

}  // namespace wt::test::tables_rules_test
