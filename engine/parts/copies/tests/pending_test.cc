// Packets that wait for their copies: their order, runs for a ring, and what is left when a copier is given
// up.
#include "parts/copies/pending.h"

#include <gtest/gtest.h>

namespace wt::test::pending_test {
namespace {

// Stands for an mbuf: nobody looks into it.
rte_mbuf *mbuf(uintptr_t number) { return reinterpret_cast<rte_mbuf *>(number); }

pending_packets with(uint32_t capacity, uint32_t count, uint32_t links = 1) {
    pending_packets p(capacity);
    for (uint32_t i = 0; i < count; i++)
        pending_push(p, mbuf(i + 1), {nullptr, nullptr, 0, 100, static_cast<uint16_t>(i / 4 % links), false});
    return p;
}

std::vector<uintptr_t> left(pending_packets &p) {
    std::vector<uintptr_t> numbers;
    for (uint32_t at = p.head; at != p.tail; at++)
        numbers.push_back(reinterpret_cast<uintptr_t>(p.packet(at)));
    return numbers;
}

uint32_t run_of(pending_packets &p, uint32_t most, uintptr_t *first, uint16_t *link) {
    rte_mbuf *const *packets;
    const uint32_t count = pending_run(p, most, &packets, link);
    if (count) *first = reinterpret_cast<uintptr_t>(packets[0]);
    return count;
}

TEST(pending, only_copied_packets_make_a_run) {
    pending_packets p = with(16, 10);
    uintptr_t first = 0;
    uint16_t link;
    EXPECT_EQ(run_of(p, 100, &first, &link), 0u);
    p.started = p.ended = 3;
    EXPECT_EQ(run_of(p, 100, &first, &link), 3u);
    EXPECT_EQ(first, 1u);
    EXPECT_EQ(run_of(p, 2, &first, &link), 2u);
}

TEST(pending, a_run_ends_where_the_link_changes) {
    pending_packets p = with(16, 10, 2);
    p.started = p.ended = p.tail;
    uintptr_t first = 0;
    uint16_t link = 9;
    EXPECT_EQ(run_of(p, 100, &first, &link), 4u);
    EXPECT_EQ(link, 0u);
    p.head += 4;
    EXPECT_EQ(run_of(p, 100, &first, &link), 4u);
    EXPECT_EQ(first, 5u);
    EXPECT_EQ(link, 1u);
}

TEST(pending, a_run_ends_where_the_memory_does) {
    pending_packets p = with(8, 8);
    p.started = p.ended = p.head = 6;
    for (uint32_t i = 9; i <= 12; i++) pending_push(p, mbuf(i), {});
    p.started = p.ended = p.tail;
    uintptr_t first = 0;
    uint16_t link;
    EXPECT_EQ(run_of(p, 100, &first, &link), 2u);
    EXPECT_EQ(first, 7u);
    p.head += 2;
    EXPECT_EQ(run_of(p, 100, &first, &link), 4u);
    EXPECT_EQ(first, 9u);
    EXPECT_EQ(p.room(), 4u);
}

TEST(pending, what_never_ends_is_taken_out_and_the_rest_keeps_its_order) {
    pending_packets p = with(16, 10);
    p.ended = 2;
    p.started = 7;
    for (uint32_t at : {2, 4, 5}) p.copy(at).runs = true;
    p.running = 3;
    rte_mbuf *out[3];
    pending_abandon(p, out);
    EXPECT_EQ(std::vector<rte_mbuf *>(out, out + 3), (std::vector<rte_mbuf *>{mbuf(3), mbuf(5), mbuf(6)}));
    EXPECT_EQ(left(p), (std::vector<uintptr_t>{1, 2, 4, 7, 8, 9, 10}));
    EXPECT_EQ(p.running, 0u);
    EXPECT_EQ(p.ended, 4u);  // 1, 2, and 4 and 7, which the CPU has copied
    EXPECT_EQ(p.started, 4u);
    EXPECT_EQ(p.tail, 7u);
}

}  // namespace
}  // namespace wt::test::pending_test
