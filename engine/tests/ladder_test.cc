// The ladder's cycle: one over all its lines at every length, in an order that is random.
#include "host/ladder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace wt::test::ladder_test {
namespace {

// Lines from the first until it comes round again; at most one more than there are.
std::vector<size_t> order(const std::vector<wt_ladder_line> &lines) {
    std::vector<size_t> walked;
    const wt_ladder_line *line = &lines[0];
    do {
        walked.push_back(static_cast<size_t>(line - lines.data()));
        line = line->next;
    } while (line != &lines[0] && walked.size() <= lines.size());
    return walked;
}

TEST(ladder, the_cycle_holds_every_line_once_at_every_length) {
    std::vector<wt_ladder_line> lines(1000);
    uint64_t state = 1;
    size_t linked = 0;
    for (const size_t length : {1, 2, 3, 64, 65, 1000}) {
        wt_ladder_grow(lines.data(), linked, length, &state);
        linked = length;
        std::vector<size_t> walked = order(lines);
        ASSERT_EQ(walked.size(), length);
        EXPECT_EQ(std::set<size_t>(walked.begin(), walked.end()).size(), length);
        EXPECT_LT(*std::max_element(walked.begin(), walked.end()), length) << "a line that is not linked yet";
    }
}

TEST(ladder, the_order_is_random) {
    std::vector<wt_ladder_line> lines(4096);
    uint64_t state = 1;
    wt_ladder_grow(lines.data(), 0, lines.size(), &state);
    const std::vector<size_t> walked = order(lines);
    double distance = 0;
    for (size_t i = 1; i < walked.size(); i++)
        distance += std::abs(static_cast<double>(walked[i]) - static_cast<double>(walked[i - 1]));
    // of two random places among n: n/3 apart on average, with a deviation of about 0.24 n / sqrt(n)
    EXPECT_NEAR(distance / 4095, 4096 / 3.0, 5 * 0.24 * 64);
}

TEST(ladder, two_seeds_two_orders_one_seed_one_order) {
    std::vector<wt_ladder_line> a(512), b(512), c(512);
    uint64_t first = 7, second = 8, again = 7;
    wt_ladder_grow(a.data(), 0, 512, &first);
    wt_ladder_grow(b.data(), 0, 512, &second);
    wt_ladder_grow(c.data(), 0, 512, &again);
    EXPECT_NE(order(a), order(b));
    EXPECT_EQ(order(a), order(c));
}

TEST(ladder, a_walk_visits_the_requested_number_of_lines) {
    std::vector<wt_ladder_line> lines(100);
    uint64_t state = 3;
    wt_ladder_grow(lines.data(), 0, 100, &state);
    const std::vector<size_t> walked = order(lines);
    wt_ladder_line *at = lines.data();
    wt_ladder_walk(&at, 48);
    EXPECT_EQ(static_cast<size_t>(at - lines.data()), walked[48]);
    wt_ladder_walk(&at, 64);
    EXPECT_EQ(static_cast<size_t>(at - lines.data()), walked[12]) << "round and on";
}

}  // namespace
}  // namespace wt::test::ladder_test
