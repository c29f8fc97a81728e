#include "core/speed.h"

#include <gtest/gtest.h>

namespace wt::test::speed_test {

TEST(Speed, MeasuresSomething) {
    const speed_sample s = speed_measure();
    EXPECT_GT(s.chain, 0u);
    EXPECT_GT(s.wide, 0u);
}

// Twice the work takes longer whatever the machine does: the compiler has not thrown it away.
TEST(Speed, ChainTakesTime) {
    uint32_t least = UINT32_MAX;
    for (int i = 0; i < 100; i++) least = std::min(least, speed_measure().chain);
    EXPECT_GT(least, speed_chain_length / 4);
}

TEST(Speed, WideExcludesInterrupts) {
    speed_log log;
    for (uint32_t ticks : {100u, 110u, 120u, 401u, 90'000u}) log.add({7, ticks});
    EXPECT_DOUBLE_EQ(speed_wide(log), 110.0);
}

TEST(Speed, ChainIsTheMedian) {
    speed_log log;
    for (uint32_t ticks : {90'000u, 100u, 120u, 401u, 110u}) log.add({ticks, 7});
    EXPECT_DOUBLE_EQ(speed_chain(log), 120.0);
}

TEST(Speed, NoSamplesGiveZero) {
    EXPECT_EQ(speed_chain(speed_log{}), 0.0);
    EXPECT_EQ(speed_wide(speed_log{}), 0.0);
}

TEST(Speed, LogKeepsTheLast) {
    speed_log log;
    for (uint32_t i = 0; i < speed_log::room; i++) log.add({1000, 1000});
    for (uint32_t i = 0; i < speed_log::room; i++) log.add({10, 10});
    EXPECT_EQ(log.taken, 2 * speed_log::room);
    EXPECT_DOUBLE_EQ(speed_wide(log), 10.0);
    EXPECT_DOUBLE_EQ(speed_chain(log), 10.0);
}

}  // namespace wt::test::speed_test
