#include "core/checksum.h"

#include <gtest/gtest.h>
#include <rte_ip.h>

#include <random>
#include <vector>

namespace wt::test::checksum_test {
namespace {

constexpr uint32_t before = 8;  // what checksum_bytes may read ahead of its part

uint16_t rte(const uint8_t *at, size_t bytes) { return rte_raw_cksum(at, bytes); }

TEST(Checksum, EqualsDpdksForEveryLengthAndAlignment) {
    std::mt19937 random(2);
    for (uint32_t bytes = 0; bytes <= 1600; bytes++) {
        for (uint32_t shift = 0; shift < 4; shift++) {
            // Ends with the allocation, so that AddressSanitizer sees a byte too many.
            std::vector<uint8_t> memory(before + shift + bytes);
            for (uint8_t &b : memory) b = static_cast<uint8_t>(random());
            const uint8_t *at = memory.data() + before + shift;
            ASSERT_EQ(checksum_fold(checksum_bytes(0, at, bytes)), rte(at, bytes)) << bytes << " bytes";
        }
    }
}

TEST(Checksum, EqualsDpdksForExtremeBytes) {
    for (const uint8_t fill : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
        for (uint32_t bytes : {1u, 2u, 7u, 8u, 15u, 16u, 31u, 32u, 33u, 1472u, 9000u, 65507u}) {
            std::vector<uint8_t> memory(before + bytes, fill);
            const uint8_t *at = memory.data() + before;
            ASSERT_EQ(checksum_fold(checksum_bytes(0, at, bytes)), rte(at, bytes))
                << bytes << " of " << +fill;
        }
    }
}

TEST(Checksum, PartsOfEvenLengthAddUp) {
    std::mt19937 random(3);
    std::vector<uint8_t> memory(before + 300);
    for (uint8_t &b : memory) b = static_cast<uint8_t>(random());
    const uint8_t *at = memory.data() + before;
    for (uint32_t cut = 0; cut <= 300; cut += 2) {
        const uint64_t first = checksum_bytes(0, at, cut);
        ASSERT_EQ(checksum_fold(checksum_bytes(first, at + cut, 300 - cut)), rte(at, 300)) << cut;
    }
}

TEST(Checksum, CarriesWrapAround) {
    EXPECT_EQ(checksum_add(UINT64_MAX, 1), 1u);
    EXPECT_EQ(checksum_add(UINT64_MAX, UINT64_MAX), UINT64_MAX);
    EXPECT_EQ(checksum_fold(UINT64_MAX), 0xffff);
    EXPECT_EQ(checksum_fold(0), 0);
    EXPECT_EQ(checksum_fold(0x0001'0000'0000'0000), 1);
    EXPECT_EQ(checksum_fold(0x0001'0001'0001'ffff), 3);
    EXPECT_EQ(checksum_field(0x1234), 0xedcb);
}

}  // namespace
}  // namespace wt::test::checksum_test
