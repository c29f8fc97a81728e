// The times of a capture, by a clock that the test sets.
#include "core/pacer.h"

#include <gtest/gtest.h>

namespace wt::test::pacer_test {
namespace {

// Three frames at 0, 100 and 250 ns; a round every 375 ns; 2 ticks a ns; the run starts at tick 1000.
pacer three() { return {{0, 100, 250}, 375, 2.0, 1000, 0, 0}; }

TEST(pacer, frames_fall_due_at_their_times_and_not_before) {
    const pacer p = three();
    EXPECT_EQ(pacer_due(p, 0, 32), 0u);  // a clock that stands before the start
    EXPECT_EQ(pacer_due(p, 999, 32), 0u);
    EXPECT_EQ(pacer_due(p, 1000, 32), 1u);
    EXPECT_EQ(pacer_due(p, 1199, 32), 1u);
    EXPECT_EQ(pacer_due(p, 1200, 32), 2u);
    EXPECT_EQ(pacer_due(p, 1500, 32), 3u);
    EXPECT_EQ(pacer_due(p, 1500, 2), 2u) << "no more than asked for";
    EXPECT_EQ(pacer_due(p, 1'000'000, 32), 3u) << "a round at a time";
}

TEST(pacer, rounds_accumulate_no_error) {
    pacer p = three();
    p.ticks_per_ns = 2.4;
    for (uint64_t round = 0; round < 1'000'000; round++)
        for (const uint64_t due : {0, 100, 250}) {
            const auto exact = 1000 + static_cast<uint64_t>(static_cast<double>(round * 375 + due) * 2.4);
            ASSERT_EQ(pacer_due(p, exact - 1, 1), 0u) << round;
            ASSERT_EQ(pacer_due(p, exact, 1), 1u) << round;
            ASSERT_EQ(pacer_time(p, p.next), exact);
            pacer_advance(p, 1);
        }
}

// However rare the polls, the number of entered frames agrees with arithmetic.
TEST(pacer, counts_agree_with_arithmetic_at_any_poll_times) {
    for (const uint64_t step : {1, 7, 333, 5000}) {
        pacer p = three();
        uint64_t entered = 0;
        for (uint64_t now = 1000; now < 40'000; now += step) {
            while (const uint32_t due = pacer_due(p, now, 2)) {
                pacer_advance(p, due);
                entered += due;
            }
            const uint64_t ns = (now - 1000) / 2, into = ns % 375;
            ASSERT_EQ(entered, ns / 375 * 3 + 1 + (into >= 100) + (into >= 250)) << now;
        }
    }
}

TEST(pacer, a_queue_without_frames_is_never_due) {
    const pacer p{{}, 375, 2.0, 0, 0, 0};
    EXPECT_EQ(pacer_due(p, UINT64_MAX / 4, 32), 0u);
}

}  // namespace
}  // namespace wt::test::pacer_test
