// Sizes that vary: in turn, from a range, by weight; the same from the same seed.
#include "core/sizes.h"

#include <gtest/gtest.h>

#include <map>

namespace wt::test::sizes_test {
namespace {

TEST(sizes, a_sequence_is_drawn_in_order) {
    const size_table table(size_kind::sequence, {64, 64, 1472}, {});
    size_cursor c{&table, 1, 0};
    for (int round = 0; round < 3; round++)
        for (const uint32_t size : {64u, 64u, 1472u}) EXPECT_EQ(size_next(c), size);
}

TEST(sizes, a_range_is_drawn_evenly_and_includes_both_ends) {
    const size_table table(size_kind::uniform, {100, 107}, {});
    size_cursor c{&table, 42, 0};
    std::map<uint32_t, int> counts;
    constexpr int n = 80'000;
    for (int i = 0; i < n; i++) counts[size_next(c)]++;
    EXPECT_EQ(counts.size(), 8u);
    EXPECT_EQ(counts.begin()->first, 100u);
    EXPECT_EQ(counts.rbegin()->first, 107u);
    double chi_square = 0;
    for (const auto &[size, count] : counts) chi_square += (count - n / 8.0) * (count - n / 8.0) / (n / 8.0);
    EXPECT_LT(chi_square, 24.3) << "7 degrees of freedom, p = 0.001";
}

TEST(sizes, weights_are_kept_and_a_weight_of_0_is_never_drawn) {
    const size_table table(size_kind::weighted, {16, 17, 18}, {3, 0, 1});
    size_cursor c{&table, 42, 0};
    std::map<uint32_t, int> counts;
    for (int i = 0; i < 40'000; i++) counts[size_next(c)]++;
    EXPECT_EQ(counts.count(17), 0u);
    EXPECT_NEAR(counts[16], 30'000, 4 * 86.6);
}

TEST(sizes, a_copy_draws_the_same_sizes) {
    const size_table table(size_kind::weighted, {16, 17, 18, 4000}, {1, 2, 3, 4});
    size_cursor a{&table, 7, 0}, other{&table, 8, 0};
    for (int i = 0; i < 10; i++) size_next(a);
    size_cursor b = a;
    bool differs = false;
    for (int i = 0; i < 1000; i++) {
        const uint32_t size = size_next(a);
        ASSERT_EQ(size, size_next(b));
        differs |= size != size_next(other);
    }
    EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace wt::test::sizes_test
