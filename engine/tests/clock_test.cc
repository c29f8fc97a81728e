#include "core/clock.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace wt::test::clock_test {

namespace {

TEST(Clock, FixedPointEqualsLongDouble) {
    std::mt19937_64 random(1);
    for (const double hz : {25e6, 1e9, 2.1e9, 2999.9e6, 5.7e9}) {
        const wt::tsc_clock clock = wt::clock_start(hz);
        const uint64_t day = static_cast<uint64_t>(hz) * 86400;
        for (int i = 0; i < 10000; i++) {
            const uint64_t ticks = random() % day;
            const long double exact = static_cast<long double>(ticks) * 1e9L / static_cast<long double>(hz);
            // half a unit of mult is the only error beside the rounding down
            const long double tolerance = 1 + static_cast<long double>(ticks) / (uint64_t{1} << 41);
            ASSERT_NEAR(static_cast<double>(clock.ns(ticks) - exact), 0, static_cast<double>(tolerance))
                << hz;
        }
    }
}

TEST(Clock, NothingOverflowsInMoreThanADay) {
    const wt::tsc_clock clock = wt::clock_start(1e9);
    EXPECT_EQ(clock.ns(0), 0u);
    EXPECT_EQ(clock.ns(uint64_t{86400} * 1'000'000'000), uint64_t{86400} * 1'000'000'000);
    EXPECT_EQ(clock.ns(UINT64_MAX), UINT64_MAX);
}

TEST(Clock, StartIsNow) {
    const uint64_t before = wt::now();
    const wt::tsc_clock clock = wt::clock_start(1e9);
    EXPECT_GE(clock.start, before);
    EXPECT_LE(clock.start, wt::now());
}

TEST(Clock, MeasuresAFrequency) {
    const double hz = wt::measure_tsc_hz();
    EXPECT_TRUE(std::isfinite(hz));
    EXPECT_GT(hz, 1e6);  // the slowest generic timers
    EXPECT_LT(hz, 1e11);
}

}  // namespace

}  // namespace wt::test::clock_test
