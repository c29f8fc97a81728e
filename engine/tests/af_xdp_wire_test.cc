// What the wire af_xdp reckons with when it gives mbufs back: the sizes of rings, and which mbufs are whose.
// Needs no XDP socket.
#include <gtest/gtest.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include <memory>
#include <vector>

#include "suite.h"
#include "wires/af_xdp_rings.h"

namespace wt::test::af_xdp_wire_test {

namespace {

const wt::test::needs_eal eal(64);

constexpr uint32_t page = 4096, before = 320, descriptor = 16;

uint32_t size_of(uint32_t mapped, uint32_t known) {
    return wt::ring_size(mapped, known, before, descriptor, page);
}

TEST(rings, have_the_size_that_was_asked_for_although_their_page_has_room_for_more) {
    for (const uint32_t known : {1u, 8u, 32u, 64u, 128u}) EXPECT_EQ(size_of(128, known), known);
    for (const uint32_t known : {256u, 1024u, 65536u}) EXPECT_EQ(size_of(known, known), known);
    EXPECT_EQ(size_of(4096, 0), 4096u) << "of a ring of the driver's own, what the kernel maps";
}

TEST(rings, of_other_pages_are_not_those_that_were_asked_for) {
    EXPECT_EQ(size_of(2048, 1024), 0u);
    EXPECT_EQ(size_of(1024, 2048), 0u);
    EXPECT_EQ(size_of(256, 64), 0u);
}

struct free_pool {
    void operator()(rte_mempool *pool) const { rte_mempool_free(pool); }
};
using pool_pointer = std::unique_ptr<rte_mempool, free_pool>;

pool_pointer pool_of(const char *name, uint32_t size) {
    pool_pointer pool(rte_pktmbuf_pool_create(name, size, 32, 0, 2176, SOCKET_ID_ANY));
    EXPECT_TRUE(pool) << rte_strerror(rte_errno);
    return pool;
}

TEST(mbufs, that_nobody_gave_back_are_freed) {
    const pool_pointer pool = pool_of("rest", 1023);
    std::vector<rte_mbuf *> taken(100);
    ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool.get(), taken.data(), 100), 0);
    rte_pktmbuf_free_bulk(taken.data(), 10);  // some of them into this thread's cache
    EXPECT_EQ(wt::free_the_rest(pool.get(), 89), 0u) << "more than a NIC can have";
    EXPECT_EQ(rte_mempool_avail_count(pool.get()), 933u);
    EXPECT_EQ(wt::free_the_rest(pool.get(), 90), 90u);
    EXPECT_EQ(rte_mempool_avail_count(pool.get()), 1023u);
    EXPECT_EQ(wt::free_the_rest(pool.get(), 90), 0u);
    taken.resize(1023);
    EXPECT_EQ(rte_pktmbuf_alloc_bulk(pool.get(), taken.data(), 1023), 0) << "each of them once";
    rte_pktmbuf_free_bulk(taken.data(), 1023);
}

TEST(mbufs, of_a_pool_are_told_from_other_memory) {
    const pool_pointer pool = pool_of("ours", 63), other = pool_of("others", 63);
    rte_mbuf *m = rte_pktmbuf_alloc(pool.get()), *theirs = rte_pktmbuf_alloc(other.get());
    EXPECT_TRUE(wt::is_mbuf_of(pool.get(), m));
    EXPECT_FALSE(wt::is_mbuf_of(pool.get(), theirs));
    rte_mbuf on_the_stack{};
    on_the_stack.pool = pool.get();
    EXPECT_FALSE(wt::is_mbuf_of(pool.get(), &on_the_stack));
    rte_pktmbuf_free(m);
    rte_pktmbuf_free(theirs);
}

}  // namespace

}  // namespace wt::test::af_xdp_wire_test
