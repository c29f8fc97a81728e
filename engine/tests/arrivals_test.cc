// Intended send times: even or Poisson, the same from the same seed.
#include "core/arrivals.h"

#include <gtest/gtest.h>

#include <vector>

namespace wt {
namespace {

arrival_cursor cursor(double interval, bool poisson, uint64_t seed) { return {interval, interval, 1000, seed, poisson}; }

TEST(arrivals, constant_rate_is_exact) {
    arrival_cursor c = cursor(230.5, false, 0);
    for (int i = 1; i <= 1'000'000; i++) {
        if (i % 1000 == 0) {
            ASSERT_EQ(arrival_time(c), 1000 + static_cast<uint64_t>(i * 230.5)) << i;
        }
        arrival_advance(c);
    }
}

TEST(arrivals, due_at_their_time_and_not_before) {
    arrival_cursor c = cursor(100, false, 0);
    EXPECT_FALSE(arrival_is_due(c, 999));  // a clock that stands before the start
    EXPECT_FALSE(arrival_is_due(c, 1099));
    EXPECT_TRUE(arrival_is_due(c, 1100));
}

// Gaps of a Poisson process: mean = standard deviation = interval; shares below the mean and the double mean by 1 - e^-x.
TEST(arrivals, poisson_gaps_are_exponential) {
    constexpr int n = 200'000;
    arrival_cursor c = cursor(1000, true, 42);
    double before = c.next, sum = 0, squares = 0;
    int below_mean = 0, below_two = 0;
    for (int i = 0; i < n; i++) {
        arrival_advance(c);
        const double gap = c.next - before;
        before = c.next;
        sum += gap;
        squares += gap * gap;
        below_mean += gap < 1000;
        below_two += gap < 2000;
    }
    const double mean = sum / n;
    EXPECT_NEAR(mean, 1000, 10);
    EXPECT_NEAR(std::sqrt(squares / n - mean * mean), 1000, 20);
    EXPECT_NEAR(static_cast<double>(below_mean) / n, 1 - std::exp(-1.0), 0.005);
    EXPECT_NEAR(static_cast<double>(below_two) / n, 1 - std::exp(-2.0), 0.005);
}

TEST(arrivals, same_seed_same_times_other_seed_other_times) {
    arrival_cursor a = cursor(1000, true, 1), b = a, other = cursor(1000, true, 2);
    bool differs = false;
    for (int i = 0; i < 1000; i++) {
        arrival_advance(a), arrival_advance(b), arrival_advance(other);
        ASSERT_EQ(a.next, b.next);
        differs |= a.next != other.next;
    }
    EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace wt
