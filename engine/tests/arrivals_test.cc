// Intended send times: even or Poisson, in phases and with pauses, the same from the same seed.
#include "core/arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace wt::test::arrivals_test {
namespace {

constexpr double forever = std::numeric_limits<double>::infinity();

arrival_phase even(double length, double interval) { return {length, interval, forever, 0, false}; }
arrival_phase poisson(double length, double interval) { return {length, interval, forever, 0, true}; }

// The first `count` arrivals, in ticks since the start.
std::vector<double> times(const arrival_phases &phases, size_t count, double first = 1, uint64_t seed = 1) {
    arrival_cursor c = arrival_cursor_at_start(phases, first, seed);
    std::vector<double> list;
    for (; list.size() < count; arrival_advance(c)) list.push_back(c.next);
    return list;
}

size_t between(const std::vector<double> &list, double from, double to) {
    return static_cast<size_t>(
        std::count_if(list.begin(), list.end(), [&](double t) { return t >= from && t < to; }));
}

TEST(arrivals, constant_rate_is_exact) {
    const arrival_phases phases{{even(forever, 230.5)}, 0};
    arrival_cursor c = arrival_cursor_at_start(phases, 1, 0);
    c.start = 1000;
    for (int i = 1; i <= 1'000'000; i++) {
        if (i % 1000 == 0) {
            ASSERT_EQ(arrival_time(c), 1000 + static_cast<uint64_t>(i * 230.5)) << i;
        }
        arrival_advance(c);
    }
}

TEST(arrivals, due_at_their_time_and_not_before) {
    const arrival_phases phases{{even(forever, 100)}, 0};
    arrival_cursor c = arrival_cursor_at_start(phases, 1, 0);
    c.start = 1000;
    EXPECT_FALSE(arrival_is_due(c, 999));  // a clock that stands before the start
    EXPECT_FALSE(arrival_is_due(c, 1099));
    EXPECT_TRUE(arrival_is_due(c, 1100));
}

// Gaps of a Poisson process: mean = standard deviation = interval; shares below the mean and the double mean
// by 1 - e^-x.
TEST(arrivals, poisson_gaps_are_exponential) {
    constexpr int n = 200'000;
    const std::vector<double> list = times({{poisson(forever, 1000)}, 0}, n + 1, 1, 42);
    double sum = 0, squares = 0;
    int below_mean = 0, below_two = 0;
    for (int i = 0; i < n; i++) {
        const double gap = list[i + 1] - list[i];
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
    const arrival_phases phases{{poisson(5000, 100), poisson(forever, 1000)}, 0};
    EXPECT_EQ(times(phases, 1000, 1, 7), times(phases, 1000, 1, 7));
    EXPECT_NE(times(phases, 1000, 1, 7), times(phases, 1000, 1, 8));
}

TEST(arrivals, each_phase_has_its_own_messages) {
    const std::vector<double> list =
        times({{even(10'000, 100), even(10'000, 7), even(forever, 50)}, 0}, 4000, 0.5);
    EXPECT_EQ(between(list, 0, 10'000), 100u);
    EXPECT_NEAR(static_cast<double>(between(list, 10'000, 20'000)), 10'000 / 7.0, 1);
    EXPECT_EQ(between(list, 20'000, 70'000), 1000u);
}

// A gap that leads over a boundary is part of a message at the one rate and the rest of it at the other.
TEST(arrivals, a_gap_across_a_boundary_uses_both_rates) {
    const std::vector<double> list = times({{even(150, 100), even(forever, 10)}, 0}, 3);
    EXPECT_DOUBLE_EQ(list[0], 100);
    EXPECT_DOUBLE_EQ(list[1], 155);  // half a message in 50 ticks, the other half in 5
    EXPECT_DOUBLE_EQ(list[2], 165);
}

TEST(arrivals, a_phase_of_rate_0_has_none_and_the_lead_runs_once) {
    const arrival_phases phases{{even(1000, 10), even(500, forever), even(500, 5)}, 1};
    const std::vector<double> list = times(phases, 1000, 0.5);
    EXPECT_EQ(between(list, 0, 1000), 100u);
    for (double cycle = 1000; cycle < 5000; cycle += 1000) {
        EXPECT_EQ(between(list, cycle, cycle + 500), 0u) << cycle;
        EXPECT_EQ(between(list, cycle + 500, cycle + 1000), 100u) << cycle;
    }
}

TEST(arrivals, a_first_phase_without_messages_is_skipped) {
    for (bool random : {false, true}) {
        const arrival_phases phases{{{1000, forever, forever, 0, random}, {forever, 10, forever, 0, random}},
                                    0};
        EXPECT_GE(times(phases, 1)[0], 1000) << random;
    }
}

TEST(arrivals, bursts_send_while_on_and_pause_while_off) {
    const arrival_phase bursts{10'250, 10, 100, 900, false};
    const std::vector<double> list = times({{bursts, even(forever, 1000)}, 0}, 200, 0.5);
    for (double period = 0; period < 10'000; period += 1000) {
        EXPECT_EQ(between(list, period, period + 100), 10u) << period;
        EXPECT_EQ(between(list, period + 100, period + 1000), 0u) << period;
    }
    EXPECT_EQ(between(list, 10'000, 10'250), 10u) << "the last period is cut in its pause";
}

// In phases and bursts alike, the counts of a Poisson load in equal times have a mean and a variance of what
// was asked.
TEST(arrivals, poisson_counts_follow_the_rate_of_each_phase) {
    const arrival_phases phases{{poisson(1000, 10), {1000, 2, 250, 250, true}}, 0};
    const std::vector<double> list = times(phases, 700'000);
    constexpr int cycles = 1500;
    double quiet = 0, quiet_squares = 0, bursts = 0;
    for (int i = 0; i < cycles; i++) {
        const double begin = i * 2000.0;
        const auto n = static_cast<double>(std::lower_bound(list.begin(), list.end(), begin + 1000) -
                                           std::lower_bound(list.begin(), list.end(), begin));
        quiet += n, quiet_squares += n * n;
        bursts += static_cast<double>(std::lower_bound(list.begin(), list.end(), begin + 2000) -
                                      std::lower_bound(list.begin(), list.end(), begin + 1000));
    }
    quiet /= cycles;
    EXPECT_NEAR(quiet, 100, 4 * 10 / std::sqrt(cycles));
    EXPECT_NEAR(quiet_squares / cycles - quiet * quiet, 100, 100 * 4 * std::sqrt(2.0 / cycles));
    EXPECT_NEAR(bursts / cycles, 250, 4 * std::sqrt(250.0 / cycles));
}

// Whatever steps the clock makes, what is passed over is what one by one would have been.
TEST(arrivals, skipping_due_arrivals_counts_the_same_as_walking) {
    const std::vector<arrival_phases> loads = {
        {{even(forever, 7.25)}, 0},
        {{even(1000, 7.25), even(500, forever), even(333, 1.5)}, 1},
        {{{1000, 2, 30, 70, false}, even(100, 3)}, 0},
        {{poisson(1000, 5), even(1000, 11)}, 0},
    };
    for (const arrival_phases &phases : loads) {
        arrival_cursor leaping = arrival_cursor_at_start(phases, 0.5, 9), walking = leaping;
        uint64_t leapt = 0, walked = 0, random = 3;
        for (uint64_t now = 0; now < 200'000; now += random_next(&random) % 4000) {
            while (arrival_is_due(leaping, now)) leapt += arrival_pass_due(leaping, now);
            for (; arrival_is_due(walking, now); walked++) arrival_advance(walking);
            ASSERT_EQ(leapt, walked) << now;
            ASSERT_NEAR(leaping.next, walking.next, 1e-6) << now;
        }
    }
}

// A call draws no more than some microseconds' worth, however long the pause was; the next calls go on.
TEST(arrivals, catching_up_is_bounded_and_carries_over) {
    const std::vector<arrival_phases> loads = {{{poisson(forever, 5)}, 0},
                                               {{{forever, 1, 30, 70, false}}, 0}};
    for (const arrival_phases &phases : loads) {
        arrival_cursor c = arrival_cursor_at_start(phases, 1, 3), walking = c;
        uint64_t passed = 0, walked = 0;
        while (arrival_is_due(c, 1'000'000)) {
            const uint64_t once = arrival_pass_due(c, 1'000'000);
            ASSERT_LE(once, arrival_most_steps);
            passed += once;
        }
        for (; arrival_is_due(walking, 1'000'000); walked++) arrival_advance(walking);
        EXPECT_EQ(passed, walked);
    }
}

// However many are asked for at once, the intended times are those of a walk one by one, and none lies ahead
// of the clock.
TEST(arrivals, due_arrivals_have_their_own_times) {
    const std::vector<arrival_phases> loads = {
        {{even(forever, 7.25)}, 0},
        {{even(1000, 1.0 / 3 + 1), even(500, forever), even(333, 1.5)}, 1},
        {{{1000, 2, 30, 70, false}, even(100, 3)}, 0},
        {{poisson(1000, 5), even(1000, 11)}, 0},
    };
    for (const arrival_phases &phases : loads) {
        arrival_cursor a = arrival_cursor_at_start(phases, 0.5, 9);
        a.start = 1'000'000;
        arrival_cursor b = a;
        uint64_t random = 3, walked = 0, intended[32];
        for (uint64_t now = a.start; now < a.start + 100'000; now += random_next(&random) % 200) {
            const auto most = static_cast<uint32_t>(1 + random_next(&random) % 32);
            const uint32_t count = arrival_walk_due(a, now, most, intended);
            ASSERT_TRUE(count == most || !arrival_is_due(a, now)) << now;
            for (uint32_t i = 0; i < count; i++, walked++) {
                ASSERT_LE(intended[i], now);
                // a tick apart where the last digit of the two sums falls on either side of it
                ASSERT_NEAR(static_cast<double>(intended[i]), static_cast<double>(arrival_time(b)), 1) << now;
                arrival_advance(b);
            }
        }
        EXPECT_GT(walked, 10'000u);
    }
}

TEST(arrivals, two_cursors_from_one_seed_walk_the_same_times) {
    const arrival_phases phases{{poisson(1000, 10), {1000, 2, 30, 70, true}}, 1};
    arrival_cursor a = arrival_cursor_at_start(phases, 1, 3), b = a;
    for (int i = 0; i < 10'000; i++) arrival_advance(a);
    for (int i = 0; i < 10'000; i++) arrival_advance(b);
    EXPECT_EQ(a.next, b.next);
}

}  // namespace
}  // namespace wt::test::arrivals_test
