// From which size on a copier saves the worker cycles: by what copies cost in the run's memory, not here.
#include "parts/copies/copiers/break_even.h"

#include <gtest/gtest.h>

#include <vector>

#include "by_hand.h"
#include "tests/suite.h"

namespace wt::test::break_even_test {
namespace {

const needs_eal eal(64);

constexpr uint32_t batch = 4;
const std::vector<uint32_t> sizes = {64, 128, 200};

// A copier whose copies end at once, in some hundred ticks of its caller.
break_even measured(by_hand &copier, const std::vector<double> &by_cpu) {
    copier.may_end = UINT32_MAX;
    const copy_channel channel = {
        .state = &copier, .submit = by_hand::submit, .completed = by_hand::completed};
    const std::vector<uint8_t> source(4096);
    return measure_break_even(channel, source, sizes, by_cpu, batch, UINT64_MAX);
}

constexpr double dear = 1e9;  // ticks

TEST(break_even, is_the_first_size_whose_copy_costs_more_by_the_cpu) {
    by_hand copier;
    EXPECT_EQ(measured(copier, {dear, dear, dear}).at_least, 64u);
    EXPECT_EQ(measured(copier, {0, dear, 0}).at_least, 128u);
    EXPECT_EQ(measured(copier, {0, 0, dear}).at_least, 200u);
}

TEST(break_even, is_beyond_the_largest_size_where_none_saves_any) {
    by_hand copier;
    EXPECT_EQ(measured(copier, {0, 0, 0}).at_least, 201u);
}

TEST(break_even, counts_the_copies_that_it_took) {
    by_hand copier;
    const uint64_t of_one = measured(copier, {dear, dear, dear}).copies;
    EXPECT_GT(of_one, 0u);
    EXPECT_EQ(of_one % batch, 0u);
    EXPECT_EQ(measured(copier, {0, 0, 0}).copies, 3 * of_one);
}

}  // namespace
}  // namespace wt::test::break_even_test
