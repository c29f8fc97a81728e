#include "core/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "report/histogram_json.h"

namespace wt::test::histogram_test {
namespace {

template <typename H>
class Histogram : public testing::Test {};
using kinds = testing::Types<latency_histogram, batch_histogram, histogram<1, 8>>;
TYPED_TEST_SUITE(Histogram, kinds);

TYPED_TEST(Histogram, BucketsHaveNoGaps) {
    for (uint32_t b = 0; b < TypeParam::buckets; b++) {
        const uint64_t lowest = TypeParam::lowest_of(b);
        const uint64_t next =
            b + 1 < TypeParam::buckets ? TypeParam::lowest_of(b + 1) : TypeParam::largest + 1;
        ASSERT_LT(lowest, next);
        ASSERT_EQ(TypeParam::bucket_of(lowest), b);
        ASSERT_EQ(TypeParam::bucket_of(next - 1), b);
    }
}

TYPED_TEST(Histogram, ABucketIsNoWiderThanItsPrecision) {
    for (uint32_t b = 0; b + 1 < TypeParam::buckets; b++) {
        const uint64_t lowest = TypeParam::lowest_of(b), width = TypeParam::lowest_of(b + 1) - lowest;
        if (b < (1u << TypeParam::bits))
            ASSERT_EQ(width, 1u);
        else
            ASSERT_LE(width * TypeParam::half, lowest);
    }
}

TYPED_TEST(Histogram, CountsAddedValues) {
    const auto h = std::make_unique<TypeParam>();
    h->clear();
    EXPECT_EQ(h->total, 0u);
    std::mt19937_64 random(4);
    std::vector<uint64_t> values(1000);
    for (uint64_t &v : values) h->add(v = random() % TypeParam::largest);
    EXPECT_EQ(h->total, values.size());
    EXPECT_EQ(h->min, *std::ranges::min_element(values));
    EXPECT_EQ(h->max, *std::ranges::max_element(values));
    uint64_t sum = 0;
    for (const uint64_t v : values) sum += v;
    EXPECT_EQ(h->sum, sum);

    std::vector<uint64_t> expected(TypeParam::buckets);
    for (const uint64_t v : values) expected[TypeParam::bucket_of(v)]++;
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), h->counts));

    h->clear();
    EXPECT_EQ(h->total + h->sum + h->max, 0u);
    EXPECT_EQ(h->min, UINT64_MAX);
    EXPECT_TRUE(std::all_of(h->counts, h->counts + TypeParam::buckets, [](uint64_t c) { return c == 0; }));
}

TYPED_TEST(Histogram, TooLargeValuesAreInTheLastBucket) {
    const auto h = std::make_unique<TypeParam>();
    h->clear();
    h->add(TypeParam::largest);
    h->add(TypeParam::largest + 1);
    h->add(UINT64_MAX / 2);
    EXPECT_EQ(h->counts[TypeParam::buckets - 1], 3u);
    EXPECT_EQ(h->max, UINT64_MAX / 2) << "the largest is kept as it was";
}

// As many as an hour's window may have, in one worker's histogram and in the sum of several.
TYPED_TEST(Histogram, CountsBeyond32Bits) {
    const auto h = std::make_unique<TypeParam>(), sum = std::make_unique<TypeParam>();
    h->clear(), sum->clear();
    for (int i = 0; i < 3; i++) h->add(5, UINT32_MAX);
    for (int i = 0; i < 2; i++) histogram_merge(*sum, *h);
    EXPECT_EQ(h->counts[TypeParam::bucket_of(5)], uint64_t{3} * UINT32_MAX);
    EXPECT_EQ(sum->counts[TypeParam::bucket_of(5)], uint64_t{6} * UINT32_MAX);
    const auto json = histogram_json(*sum);
    EXPECT_EQ(json["counts"][0][1], json["total"]);
}

TEST(LatencyHistogram, HasHdrHistogramsBucketsForThreeDigits) {
    // HdrHistogram, 3 significant digits: 2048 sub-buckets, so exact below 2048, then in steps of 2 below
    // 4096, ...
    EXPECT_EQ(latency_histogram::bucket_of(2047), 2047u);
    EXPECT_EQ(latency_histogram::bucket_of(2048), 2048u);
    EXPECT_EQ(latency_histogram::bucket_of(2049), 2048u);
    EXPECT_EQ(latency_histogram::lowest_of(2049), 2050u);
    EXPECT_EQ(latency_histogram::bucket_of(4095), 3071u);
    EXPECT_EQ(latency_histogram::lowest_of(3073), 4100u);
    EXPECT_GT(latency_histogram::largest, 60'000'000'000u) << "a minute in ns";
}

}  // namespace
}  // namespace wt::test::histogram_test
