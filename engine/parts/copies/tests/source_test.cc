// Which bytes of a source a message gets.
#include "parts/copies/source.h"

#include <gtest/gtest.h>

#include <set>

namespace wt::test::source_test {
namespace {

constexpr uint64_t seed = 7;

TEST(source, messages_take_its_parts_in_turn) {
    const source_layout layout(seed, 1000 * 128, 100, 10, false);
    EXPECT_EQ(layout.part_bytes, 128u);
    EXPECT_EQ(layout.parts, 1000u);
    std::set<uint64_t> taken;
    for (uint32_t generation = 1; generation < 200; generation += 2)
        for (uint32_t slot = 0; slot < 10; slot++) taken.insert(source_position(layout, 0, slot, generation));
    EXPECT_EQ(taken.size(), 1000u) << "each part once before the first comes again";
    EXPECT_EQ(*taken.rbegin(), 999 * 128u);
}

TEST(source, a_hot_one_gives_every_message_the_same_bytes) {
    const source_layout layout(seed, 1000 * 128, 100, 10, true);
    EXPECT_EQ(source_position(layout, 3, 9, 77), 0u);
}

TEST(source, a_body_that_fills_it_has_one_part) {
    EXPECT_EQ(source_layout(seed, 100, 100, 10, false).parts, 1u);
    EXPECT_EQ(source_layout(seed, 128, 0, 10, false).parts, 1u);
}

}  // namespace
}  // namespace wt::test::source_test
