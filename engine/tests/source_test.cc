// Which bytes of a source a message gets, and whether every wrong byte of a body is found.
#include "core/source.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "core/random_bytes.h"

namespace wt::test::source_test {
namespace {

constexpr uint64_t seed = 7;

std::vector<uint8_t> filled(uint64_t bytes) {
    std::vector<uint8_t> source(bytes);
    random_bytes_fill(seed, source.data(), bytes);
    return source;
}

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

// Every position and length around the words, each with every single byte wrong.
TEST(source, every_wrong_byte_is_found_where_it_is) {
    const std::vector<uint8_t> source = filled(64);
    for (uint32_t from = 0; from < 20; from++)
        for (uint32_t bytes = 0; bytes < 30; bytes++) {
            std::vector<uint8_t> body(source.begin() + from, source.begin() + from + bytes);
            ASSERT_EQ(random_bytes_compare(seed, from, body.data(), bytes).count, 0u) << from << " " << bytes;
            for (uint32_t at = 0; at < bytes; at++) {
                body[at] ^= 0x10;
                const wrong_bytes wrong = random_bytes_compare(seed, from, body.data(), bytes);
                ASSERT_EQ(wrong.count, 1u) << from << " " << bytes << " " << at;
                ASSERT_EQ(wrong.first, at);
                body[at] ^= 0x10;
            }
        }
}

TEST(source, the_bytes_of_another_part_are_wrong) {
    const std::vector<uint8_t> source = filled(4096);
    const wrong_bytes wrong = random_bytes_compare(seed, 1024, source.data(), 1000);
    EXPECT_GT(wrong.count, 980u);
    EXPECT_LT(wrong.first, 4u);
}

TEST(source, other_seeds_have_other_bytes) {
    const std::vector<uint8_t> source = filled(1000);
    EXPECT_GT(random_bytes_compare(seed + 1, 0, source.data(), 1000).count, 980u);
}

}  // namespace
}  // namespace wt::test::source_test
