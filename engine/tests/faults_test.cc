// Emulated faults, by counts. The mbufs are fakes whose second reference is ours: a free never reaches a
// pool, and its count says how often it was freed. Duplicates need a pool, so EAL: they are in ports_test.cc.
#include "wires/faults.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

namespace wt::test::faults_test {

namespace {

struct packets {
    explicit packets(uint32_t count) : mbufs(new rte_mbuf[count]()), burst(count) {
        for (uint32_t i = 0; i < count; i++) {
            mbufs[i].refcnt = 2;
            mbufs[i].nb_segs = 1;
            burst[i] = &mbufs[i];
        }
    }
    uint32_t freed(uint32_t i) const { return 2 - mbufs[i].refcnt; }

    std::unique_ptr<rte_mbuf[]> mbufs;
    std::vector<rte_mbuf *> burst;
};

// What came out of bursts of several sizes, as positions; what was still held at the end comes last.
std::vector<size_t> execute_run(wt::faults &f, packets &p, uint32_t batch) {
    std::vector<size_t> order;
    std::vector<rte_mbuf *> out(2 * batch + 64);
    const auto take = [&](uint32_t count) {
        for (uint32_t i = 0; i < count; i++) order.push_back(out[i] - p.mbufs.get());
    };
    const auto total = static_cast<uint32_t>(p.burst.size());
    for (uint32_t i = 0; i < total; i += batch)
        take(wt::faults_apply(f, &p.burst[i], std::min(batch, total - i), out.data()));
    take(wt::faults_release(f, out.data()));
    return order;
}

wt::faults make(const wt::fault_plan &plan, uint64_t seed = 1) {
    wt::faults f;
    wt::faults_init(f, plan, seed, nullptr);
    return f;
}

TEST(Faults, NoneLeavesEverythingAsItIs) {
    wt::faults f = make({.loss = 0, .duplicate = 0, .reorder = 0, .reorder_depth = 1});
    packets p(1000);
    std::vector<size_t> expected(1000);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(execute_run(f, p, 32), expected);
    EXPECT_EQ(f.lost + f.duplicated, 0u);
}

TEST(Faults, FullLossLosesAllOnce) {
    wt::faults f = make({.loss = 1, .duplicate = 1, .reorder = 1, .reorder_depth = 4});
    packets p(1000);
    EXPECT_TRUE(execute_run(f, p, 7).empty());
    EXPECT_EQ(f.lost, 1000u);
    for (uint32_t i = 0; i < 1000; i++) EXPECT_EQ(p.freed(i), 1u);
}

TEST(Faults, EveryPacketIsEitherSentOrLost) {
    wt::faults f = make({.loss = 0.1, .duplicate = 0, .reorder = 0.3, .reorder_depth = 5});
    packets p(100000);
    const std::vector<size_t> order = execute_run(f, p, 32);
    EXPECT_EQ(order.size() + f.lost, 100000u);
    std::vector<uint32_t> seen(100000);
    for (const size_t i : order) seen[i]++;
    for (uint32_t i = 0; i < 100000; i++) ASSERT_EQ(seen[i] + p.freed(i), 1u);
    // 10,000 expected, a standard deviation of 95; the seed is fixed
    EXPECT_NEAR(static_cast<double>(f.lost), 10000, 5 * 95);
}

TEST(Faults, NoPacketIsOvertakenByMoreThanTheDepth) {
    for (const uint16_t depth : {1, 3, 64}) {
        wt::faults f = make({.loss = 0, .duplicate = 0, .reorder = 0.2, .reorder_depth = depth});
        packets p(20000);
        const std::vector<size_t> order = execute_run(f, p, 33);
        std::vector<size_t> place(20000);
        for (size_t at = 0; at < order.size(); at++) place[order[at]] = at;
        size_t overtaken_packets = 0;
        for (size_t i = 0; i < 20000; i++) {
            uint32_t overtakers = 0;
            for (size_t j = i + 1; j < std::min<size_t>(20000, i + 512); j++)
                overtakers += place[j] < place[i];
            ASSERT_LE(overtakers, depth);
            overtaken_packets += overtakers > 0;
        }
        EXPECT_GT(overtaken_packets, 1000u) << depth;
    }
}

TEST(Faults, AllDelayedPacketsAreStillSent) {
    // the 65th finds no room to be held and overtakes
    wt::faults f = make({.loss = 0, .duplicate = 0, .reorder = 1, .reorder_depth = 1});
    packets p(65);
    std::vector<rte_mbuf *> out(2 * 65 + 64);
    EXPECT_EQ(wt::faults_apply(f, p.burst.data(), 64, out.data()), 0u);
    EXPECT_EQ(wt::faults_apply(f, &p.burst[64], 1, out.data()), 65u);
    EXPECT_EQ(out[0], p.burst[64]);
    EXPECT_EQ(out[1], p.burst[0]);
    EXPECT_EQ(out[64], p.burst[63]);
    EXPECT_EQ(f.held_count, 0u);
}

TEST(Faults, ReleaseReturnsHeldPacketsInOrderOnce) {
    wt::faults f = make({.loss = 0, .duplicate = 0, .reorder = 1, .reorder_depth = 2});
    packets p(10);
    std::vector<rte_mbuf *> out(2 * 10 + 64);
    ASSERT_EQ(wt::faults_apply(f, p.burst.data(), 10, out.data()), 0u);
    ASSERT_EQ(wt::faults_release(f, out.data()), 10u);
    EXPECT_TRUE(std::equal(p.burst.begin(), p.burst.end(), out.begin()));
    EXPECT_EQ(wt::faults_release(f, out.data()), 0u);
    EXPECT_EQ(wt::faults_apply(f, p.burst.data(), 0, out.data()), 0u);
}

TEST(Faults, TheSeedDeterminesTheResult) {
    const wt::fault_plan plan = {.loss = 0.2, .duplicate = 0, .reorder = 0.2, .reorder_depth = 3};
    std::vector<size_t> orders[3];
    const uint64_t seeds[3] = {7, 7, 8};
    for (int i = 0; i < 3; i++) {
        wt::faults f = make(plan, seeds[i]);
        packets p(1000);
        orders[i] = execute_run(f, p, i == 1 ? 1 : 32);  // the size of a burst changes nothing
    }
    EXPECT_EQ(orders[0], orders[1]);
    EXPECT_NE(orders[0], orders[2]);
}

}  // namespace

}  // namespace wt::test::faults_test
