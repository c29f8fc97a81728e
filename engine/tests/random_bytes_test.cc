// Whether every byte that is not the one of its position is found.
#include "core/random_bytes.h"

#include <gtest/gtest.h>

#include <vector>

namespace wt::test::random_bytes_test {
namespace {

constexpr uint64_t seed = 7;

std::vector<uint8_t> filled(uint64_t bytes) {
    std::vector<uint8_t> all(bytes);
    random_bytes_fill(seed, all.data(), bytes);
    return all;
}

// Every position and length around the words, each with every single byte wrong.
TEST(random_bytes, every_wrong_byte_is_found_where_it_is) {
    const std::vector<uint8_t> all = filled(64);
    for (uint32_t from = 0; from < 20; from++)
        for (uint32_t bytes = 0; bytes < 30; bytes++) {
            std::vector<uint8_t> body(all.begin() + from, all.begin() + from + bytes);
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

TEST(random_bytes, the_bytes_of_another_place_are_wrong) {
    const std::vector<uint8_t> all = filled(4096);
    const wrong_bytes wrong = random_bytes_compare(seed, 1024, all.data(), 1000);
    EXPECT_GT(wrong.count, 980u);
    EXPECT_LT(wrong.first, 4u);
}

TEST(random_bytes, other_seeds_have_other_bytes) {
    const std::vector<uint8_t> all = filled(1000);
    EXPECT_GT(random_bytes_compare(seed + 1, 0, all.data(), 1000).count, 980u);
}

}  // namespace
}  // namespace wt::test::random_bytes_test
