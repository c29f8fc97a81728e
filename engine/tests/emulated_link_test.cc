// The emulated link compared with arithmetic, by counts and moments of a clock of its own. The mbufs are
// fakes whose second reference is ours, so that a free is seen and never reaches a pool.
#include "wires/emulated_link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <vector>

namespace wt::test::emulated_link_test {
namespace {

constexpr uint64_t start = 1'000'000;  // TSC; one tick is one nanosecond
constexpr double gigabit = 1e9;

struct packets {
    packets(uint32_t count, uint32_t bytes) : mbufs(new rte_mbuf[count]()), list(count) {
        for (uint32_t i = 0; i < count; i++) {
            mbufs[i].refcnt = 2;
            mbufs[i].nb_segs = 1;
            mbufs[i].pkt_len = bytes;
            list[i] = &mbufs[i];
        }
    }
    bool is_freed(uint32_t i) const { return mbufs[i].refcnt == 1; }
    uint32_t freed() const {
        return static_cast<uint32_t>(
            std::count_if(list.begin(), list.end(), [](const rte_mbuf *m) { return m->refcnt == 1; }));
    }

    std::unique_ptr<rte_mbuf[]> mbufs;
    std::vector<rte_mbuf *> list;
};

struct link_of {
    link_of(std::optional<double> bits_per_s, uint64_t delay_ns, uint32_t queue, uint32_t mbufs = 1 << 17)
        : link({bits_per_s, delay_ns, queue}, &line, 1.0, mbufs) {}
    uint32_t arrived(uint64_t now) {
        uint32_t count = 0;
        for (rte_mbuf *m; link_leave(link, &m, 1, start + now) == 1; count++) order.push_back(m);
        return count;
    }
    uint32_t enter(rte_mbuf **burst, uint32_t count, uint64_t now) {
        return link_enter(link, burst, count, start + now);
    }

    emulated_line line{start};
    emulated_link link;
    std::vector<rte_mbuf *> order;  // of arrival
};

// 126 bytes and 24 of framing: 1200 bits, 1200 ns at 1 Gb/s.
constexpr uint32_t bytes = 126;
constexpr uint64_t on_line = 1200;

TEST(emulated_link, a_packet_arrives_after_its_time_on_the_line_and_the_delay) {
    packets p(1, bytes);
    link_of l(gigabit, 5000, 10);
    l.enter(p.list.data(), 1, 77);
    EXPECT_EQ(l.arrived(77 + on_line + 5000 - 1), 0u);
    EXPECT_EQ(l.arrived(77 + on_line + 5000), 1u);
}

TEST(emulated_link, a_burst_sends_one_queues_its_depth_and_drops_the_rest) {
    packets p(100, bytes);
    link_of l(gigabit, 0, 10);
    EXPECT_EQ(l.enter(p.list.data(), 100, 0), 89u);
    for (uint32_t i = 0; i < 100; i++)
        EXPECT_EQ(p.is_freed(i), i >= 11) << i << ": the tail is what is dropped";
    EXPECT_EQ(link_holds(l.link), 11u);
    for (uint32_t i = 1; i <= 11; i++) {
        EXPECT_EQ(l.arrived(i * on_line - 1), 0u) << i;
        EXPECT_EQ(l.arrived(i * on_line), 1u) << i;
    }
    EXPECT_EQ(l.line.waiting.load(), 0u);
}

TEST(emulated_link, a_queue_entry_is_free_when_transmission_of_its_packet_starts) {
    packets p(20, bytes);
    link_of l(gigabit, 1'000'000, 2);
    EXPECT_EQ(l.enter(p.list.data(), 4, 0), 1u) << "one on the line, two wait";
    EXPECT_EQ(l.enter(p.list.data() + 4, 1, on_line - 1), 1u);
    EXPECT_EQ(l.enter(p.list.data() + 5, 2, on_line), 1u) << "one place, although nothing has arrived yet";
    EXPECT_EQ(l.enter(p.list.data() + 7, 3, 3 * on_line), 1u);
}

// Twice as much as the line can carry, brought every 10 us for 100 ms: the line is never idle, and half is
// dropped.
TEST(emulated_link, under_overload_the_rate_is_that_of_the_line) {
    for (const uint32_t size : {60u, 126u, 1514u}) {
        const double rate = 10e9, each_ns = (size + 24) * 8e9 / rate;
        link_of l(rate, 0, 256);
        const auto burst = static_cast<uint32_t>(2 * 10'000 / each_ns);
        packets p(burst, size);
        uint64_t offered = 0, dropped = 0, arrived = 0;
        for (uint64_t now = 0; now < 100'000'000; now += 10'000) {
            for (rte_mbuf *m : p.list) m->refcnt = 2;
            arrived += l.arrived(now);
            dropped += l.enter(p.list.data(), burst, now);
            offered += burst;
        }
        const double carried = 1e8 / each_ns;
        EXPECT_NEAR(static_cast<double>(arrived), carried, 1 + 0.0002 * carried) << size;
        EXPECT_EQ(offered, arrived + dropped + link_holds(l.link)) << size;
    }
}

TEST(emulated_link, below_its_rate_the_line_delays_and_drops_nothing) {
    packets p(1000, bytes);
    link_of l(gigabit, 300, 1);
    for (uint32_t i = 0; i < 1000; i++) EXPECT_EQ(l.enter(&p.list[i], 1, i * on_line), 0u);
    EXPECT_EQ(l.arrived(1'000 * on_line + 300), 1000u);
    EXPECT_EQ(l.order, p.list);
}

TEST(emulated_link, without_a_rate_there_is_only_the_delay) {
    packets p(1000, bytes);
    link_of l({}, 700, 1);
    EXPECT_EQ(l.enter(p.list.data(), 1000, 50), 0u);
    EXPECT_EQ(l.arrived(749), 0u);
    EXPECT_EQ(l.arrived(750), 1000u);
}

TEST(emulated_link, queues_share_the_line) {
    packets p(20, bytes);
    emulated_line line(start);
    emulated_link one({gigabit, 0, 10}, &line, 1.0, 64), other({gigabit, 0, 10}, &line, 1.0, 64);
    EXPECT_EQ(link_enter(one, p.list.data(), 6, start), 0u);
    EXPECT_EQ(link_enter(other, p.list.data() + 6, 14, start), 9u) << "one is on the line, ten wait";
    rte_mbuf *out[20];
    EXPECT_EQ(link_leave(other, out, 20, start + 6 * on_line), 0u);
    EXPECT_EQ(link_leave(other, out, 20, start + 11 * on_line), 5u);
    EXPECT_EQ(link_leave(one, out, 20, start + 11 * on_line), 6u);
}

TEST(emulated_link, remaining_packets_are_freed_at_the_end) {
    packets p(5, bytes);
    link_of l(gigabit, 1000, 10);
    l.enter(p.list.data(), 5, 0);
    l.arrived(2 * on_line + 1000);
    link_free(l.link);
    EXPECT_EQ(p.freed(), 3u);
    EXPECT_EQ(link_holds(l.link), 0u);
}

// Any packets at any moments, against a simulation in real numbers that knows no fixed point and no ring.
TEST(emulated_link, agrees_with_a_simulation) {
    std::mt19937_64 random(20261122);
    const auto below = [&](uint64_t limit) { return random() % limit; };
    for (int run_state = 0; run_state < 300; run_state++) {
        const double rate = std::pow(10, 6 + 5 * (random() % 1000 / 1000.0));
        const auto delay = below(20'000);
        const auto depth = static_cast<uint32_t>(1 + below(20));
        packets p(400, 60);
        for (rte_mbuf *m : p.list) m->pkt_len = static_cast<uint32_t>(60 + below(1455));
        link_of l(rate, delay, depth);
        double free_at = 0;
        std::deque<double> begins;
        std::vector<std::pair<rte_mbuf *, double>> expected;
        uint64_t now = 0;
        for (uint32_t i = 0; i < 400; now += below(static_cast<uint64_t>(3 * 800 * 8e9 / rate) + 2)) {
            const auto count = static_cast<uint32_t>(std::min<uint64_t>(1 + below(8), 400 - i));
            // a moment at which a packet just gets onto the line is the fixed point's to decide
            if (std::any_of(begins.begin(), begins.end(),
                            [&](double b) { return std::abs(b - static_cast<double>(now)) < 1; }) ||
                std::abs(free_at - static_cast<double>(now)) < 1)
                continue;
            while (!begins.empty() && begins.front() <= static_cast<double>(now)) begins.pop_front();
            uint32_t dropped = 0;
            for (uint32_t k = i; k < i + count; k++) {
                if (free_at > static_cast<double>(now) && begins.size() >= depth) {
                    dropped++;
                    continue;
                }
                const double begin = std::max(free_at, static_cast<double>(now));
                free_at = begin + (p.list[k]->pkt_len + 24) * 8e9 / rate;
                if (begin > static_cast<double>(now)) begins.push_back(begin);
                expected.emplace_back(p.list[k], free_at + static_cast<double>(delay));
            }
            ASSERT_EQ(l.enter(&p.list[i], count, now), dropped) << "run " << run_state << ", packet " << i;
            i += count;
        }
        for (size_t i = 0; i < expected.size(); i++) {
            l.arrived(static_cast<uint64_t>(expected[i].second - 1));
            ASSERT_LE(l.order.size(), i) << "too early in flight " << run_state;
            l.arrived(static_cast<uint64_t>(expected[i].second + 1));
            ASSERT_GE(l.order.size(), i + 1) << "too late in flight " << run_state;
        }
        ASSERT_EQ(l.order.size(), expected.size());
        for (size_t i = 0; i < expected.size(); i++) ASSERT_EQ(l.order[i], expected[i].first);
    }
}

}  // namespace
}  // namespace wt::test::emulated_link_test
