// The ring wrapper: order, capacity, and the hand-over between two threads (also run under ThreadSanitizer).
#include "core/ring.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "core/handover.h"
#include "test_tools.h"

namespace wt::test::ring_test {
namespace {

struct entry {
    uint64_t number, twice;
};

TEST(ring, ring_of_two_holds_one) {
    spsc_ring<uint32_t> r("two", 2);
    const uint32_t values[] = {7, 8};
    EXPECT_EQ(r.capacity(), 1u);
    EXPECT_EQ(r.put(values, 2), 1u);
    EXPECT_EQ(r.room(), 0u);
    uint32_t got[2] = {};
    EXPECT_EQ(r.take(got, 2), 1u);
    EXPECT_EQ(got[0], 7u);
    EXPECT_EQ(r.take(got, 2), 0u);
}

TEST(ring, refuses_a_size_that_is_no_power_of_two) {
    const auto make = [] { spsc_ring<uint32_t> r("odd", 1000); };
    EXPECT_EQ(test::refusal_of(make), "odd: a ring of 1000 entries is not possible");
    EXPECT_EQ(test::remedy_of(make), "use a power of two");
}

// Numbers and what belongs to them arrive whole, in order, none lost and none twice.
TEST(ring, two_threads_pass_all_objects_in_order) {
    constexpr uint64_t last = 200'000;
    spsc_ring<entry> r("pair", 64);
    std::thread producer([&] {
        std::vector<entry> burst(32);
        for (uint64_t next = 1; next <= last;) {
            uint32_t n = 0;
            for (; n < burst.size() && next + n <= last; n++) burst[n] = {next + n, 2 * (next + n)};
            const uint32_t put = r.put(burst.data(), n);
            next += put;
            if (put == 0) std::this_thread::yield();
        }
    });
    uint64_t expected = 1;
    std::vector<entry> got(17);
    while (expected <= last) {
        const uint32_t n = r.take(got.data(), static_cast<uint32_t>(got.size()));
        if (n == 0) std::this_thread::yield();
        for (uint32_t i = 0; i < n; i++, expected++) {
            ASSERT_EQ(got[i].number, expected);
            ASSERT_EQ(got[i].twice, 2 * expected);
        }
    }
    producer.join();
    EXPECT_EQ(r.used(), 0u);
}

rte_mbuf *fake_packet(uintptr_t number) { return reinterpret_cast<rte_mbuf *>(number); }

class handover_between : public testing::TestWithParam<bool> {};

// Both forms of the hand-over keep order and lose nothing, whatever the bursts of the two sides.
TEST_P(handover_between, keeps_order_with_unequal_bursts) {
    handover h("h", 8, GetParam(), 16);
    uintptr_t next = 1, expected = 1;
    uint32_t room, count;
    for (int round = 0; round < 1000; round++) {
        rte_mbuf **to = handover_room(h, &room);
        const uint32_t put = std::min<uint32_t>(room, static_cast<uint32_t>(round % 9));
        for (uint32_t i = 0; i < put; i++) to[i] = fake_packet(next++);
        if (put > 0) handover_put(h, put);
        rte_mbuf **from = handover_peek(h, static_cast<uint32_t>(round % 5), &count);
        const uint32_t take = count > 1 ? count - 1 : count;  // leave one, as a full port does
        for (uint32_t i = 0; i < take; i++) ASSERT_EQ(from[i], fake_packet(expected++));
        handover_consume(h, take);
    }
    while (rte_mbuf **from = handover_peek(h, 8, &count)) {
        if (count == 0) break;
        for (uint32_t i = 0; i < count; i++) ASSERT_EQ(from[i], fake_packet(expected++));
        handover_consume(h, count);
    }
    EXPECT_EQ(expected, next);
}

TEST_P(handover_between, says_when_it_is_full) {
    handover h("h", 4, GetParam(), 4);
    uint32_t room, total = 0;
    for (;;) {
        rte_mbuf **to = handover_room(h, &room);
        if (room == 0) break;
        for (uint32_t i = 0; i < room; i++) to[i] = fake_packet(i + 1);
        handover_put(h, room);
        total += room;
    }
    EXPECT_EQ(total, GetParam() ? 3u : 4u);
}

INSTANTIATE_TEST_SUITE_P(ring, handover_between, testing::Bool(),
                         [](const auto &info) { return info.param ? "two_workers" : "one_worker"; });

}  // namespace
}  // namespace wt::test::ring_test
