// Samplers draw what the exact probabilities say. Every test has a fixed seed: it fails always or never.
#include "core/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "chi_square.h"

namespace wt::test::sampler_test {
namespace {

TEST(zipf, matches_the_exact_probabilities) {
    for (const double exponent : {0.01, 0.5, 0.99, 1.0, 1 + 1e-12, 1.2, 3.0}) {
        for (const uint64_t n : {1u, 2u, 3u, 100u, 100000u}) {
            wt_zipf zipf;
            ASSERT_TRUE(wt_zipf_init(&zipf, n, exponent));
            uint64_t random = 1;
            const auto draw = [&] { return wt_zipf_draw(&zipf, &random) - 1; };
            EXPECT_LT(std::abs(deviation(zipf_weights(n, exponent), 200000, draw)), 4)
                << n << " " << exponent;
        }
    }
}

// The tests above would see a wrong exponent: 0.99 is not 0.97.
TEST(zipf, a_wrong_exponent_is_detected) {
    wt_zipf zipf;
    ASSERT_TRUE(wt_zipf_init(&zipf, 1000, 0.99));
    uint64_t random = 1;
    EXPECT_GT(deviation(zipf_weights(1000, 0.97), 200000, [&] { return wt_zipf_draw(&zipf, &random) - 1; }),
              4);
}

TEST(zipf, stays_in_range_for_many_ranks) {
    for (const double exponent : {0.001, 0.99, 1.0, 2.0, 64.0}) {
        wt_zipf zipf;
        ASSERT_TRUE(wt_zipf_init(&zipf, uint64_t{1} << 52, exponent));
        uint64_t random = 3, least = UINT64_MAX, most = 0;
        for (int i = 0; i < 20000; ++i) {
            const uint64_t rank = wt_zipf_draw(&zipf, &random);
            least = std::min(least, rank);
            most = std::max(most, rank);
        }
        EXPECT_GE(least, 1u);
        EXPECT_LE(most, uint64_t{1} << 52);
        EXPECT_EQ(most == 1, exponent == 64);
    }
}

// The share of the first rank at n = 2^30: H(n) by Euler and Maclaurin, ln n + gamma + 1 / 2n.
TEST(zipf, gives_the_first_rank_its_share) {
    const double n = 0x1p30, harmonic = std::log(n) + 0.57721566490153286 + 1 / (2 * n);
    wt_zipf zipf;
    ASSERT_TRUE(wt_zipf_init(&zipf, uint64_t{1} << 30, 1));
    uint64_t random = 5;
    const int draws = 400000;
    int firsts = 0;
    for (int i = 0; i < draws; ++i) firsts += wt_zipf_draw(&zipf, &random) == 1;
    const double p = 1 / harmonic;
    EXPECT_NEAR(firsts, draws * p, 4 * std::sqrt(draws * p * (1 - p)));
}

TEST(zipf, repeats_for_the_same_seed) {
    wt_zipf zipf;
    ASSERT_TRUE(wt_zipf_init(&zipf, 1000000, 0.99));
    const auto drawn = [&](uint64_t seed) {
        std::vector<uint64_t> ranks;
        for (int i = 0; i < 100; ++i) ranks.push_back(wt_zipf_draw(&zipf, &seed));
        return ranks;
    };
    EXPECT_EQ(drawn(7), drawn(7));
    EXPECT_NE(drawn(7), drawn(8));
}

TEST(zipf, rejects_invalid_parameters) {
    wt_zipf zipf;
    EXPECT_FALSE(wt_zipf_init(&zipf, 0, 1));
    EXPECT_FALSE(wt_zipf_init(&zipf, (uint64_t{1} << 52) + 1, 1));
    for (const double exponent : {0.0, -1.0, 64.1, std::nan(""), std::numeric_limits<double>::infinity()})
        EXPECT_FALSE(wt_zipf_init(&zipf, 10, exponent)) << exponent;
}

double alias_deviation(const weights &all, int draws = 200000) {
    std::vector<wt_alias_slot> slots(all.size());
    wt_alias alias;
    EXPECT_TRUE(wt_alias_init(&alias, slots.data(), all.data(), static_cast<uint32_t>(all.size())));
    uint64_t random = 1;
    return deviation(all, draws, [&] { return wt_alias_draw(&alias, &random); });
}

TEST(alias, matches_the_weights) {
    EXPECT_LT(std::abs(alias_deviation({1})), 4);
    EXPECT_LT(std::abs(alias_deviation({1, 1})), 4);
    EXPECT_LT(std::abs(alias_deviation({7, 0.5, 0, 3, 1e-300, 12})), 4);
    EXPECT_LT(std::abs(alias_deviation(weights(1000, 0.1))), 4) << "whose sum is not 100 after rounding";
    EXPECT_LT(std::abs(alias_deviation(zipf_weights(3000, 1.1))), 4);
    weights mixed(5000);
    for (size_t i = 0; i < mixed.size(); ++i) mixed[i] = static_cast<double>(i * i % 977);
    EXPECT_LT(std::abs(alias_deviation(mixed)), 4);
}

TEST(alias, keeps_the_probabilities_to_full_precision) {
    const weights all = zipf_weights(777, 0.99);
    const double sum = std::accumulate(all.begin(), all.end(), 0.0);
    std::vector<wt_alias_slot> slots(all.size());
    wt_alias alias;
    ASSERT_TRUE(wt_alias_init(&alias, slots.data(), all.data(), 777));
    weights found(777);
    for (size_t i = 0; i < 777; ++i) {
        found[i] += slots[i].keep / 777;
        if (slots[i].keep < 1) found[slots[i].other] += (1 - slots[i].keep) / 777;
    }
    for (size_t i = 0; i < 777; ++i) EXPECT_NEAR(found[i], all[i] / sum, 1e-13) << i;
}

TEST(alias, never_draws_a_weight_of_zero) {
    weights all(999);
    for (size_t i = 0; i < all.size(); ++i) all[i] = i % 3 == 0 ? 0 : 0.1 * static_cast<double>(i);
    std::vector<wt_alias_slot> slots(all.size());
    wt_alias alias;
    ASSERT_TRUE(wt_alias_init(&alias, slots.data(), all.data(), 999));
    uint64_t random = 2;
    for (int i = 0; i < 100000; ++i) ASSERT_NE(wt_alias_draw(&alias, &random) % 3, 0u);
}

TEST(alias, rejects_invalid_weights) {
    wt_alias alias;
    wt_alias_slot slots[2];
    const auto makes = [&](const weights &all) {
        return wt_alias_init(&alias, slots, all.data(), static_cast<uint32_t>(all.size()));
    };
    const double infinite = std::numeric_limits<double>::infinity();
    EXPECT_FALSE(makes({}));
    EXPECT_FALSE(makes({0, 0}));
    EXPECT_FALSE(makes({1, -1}));
    EXPECT_FALSE(makes({1, std::nan("")}));
    EXPECT_FALSE(makes({1, infinite}));
    EXPECT_FALSE(makes({1e308, 1e308}));
    EXPECT_TRUE(makes({1e308, 1e-308}));
}

}  // namespace
}  // namespace wt::test::sampler_test
