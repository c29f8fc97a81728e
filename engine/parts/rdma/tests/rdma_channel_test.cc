// A queue over libfabric, on a provider that refuses, fails and runs dry when a test says so.
#include <gtest/gtest.h>

#include "core/packet.h"
#include "fake_fabric.h"
#include "parts/rdma/fabric/channel.h"
#include "parts/rdma/fabric/completion.h"
#include "parts/rdma/fabric/libfabric.h"
#include "suite.h"

namespace wt::test::rdma_channel_test {
namespace {

const needs_eal eal(64);

constexpr uint32_t pool_size = 63;

struct Channel : testing::Test {
    Channel() {
        pool =
            rte_pktmbuf_pool_create("wt_channel", pool_size, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
        c.receives.reset(&provider.receives);
        c.sends.reset(&provider.sends);
        c.endpoint.reset(&provider);
        c.rx.pool = pool;
        c.rx.bytes = 1500;
        c.rx.posted.resize(8);
        c.tx.posted.resize(8);
    }
    ~Channel() override {
        fabric_free(c);
        EXPECT_EQ(rte_mempool_avail_count(pool), pool_size);
        rte_mempool_free(pool);
    }

    std::vector<rte_mbuf *> take(uint32_t count) {
        std::vector<rte_mbuf *> mbufs(count);
        EXPECT_EQ(rte_pktmbuf_alloc_bulk(pool, mbufs.data(), count), 0);
        for (rte_mbuf *m : mbufs) set_length(m, message_offset + 200);
        return mbufs;
    }
    static void give_back(const std::vector<rte_mbuf *> &mbufs) {
        for (rte_mbuf *m : mbufs) rte_pktmbuf_free(m);
    }
    // Something comes for the oldest posted receive.
    void arrive() {
        provider.receives.end(provider.posted.front().context, 200);
        provider.posted.pop_front();
    }
    uint32_t receive() {
        rte_mbuf *burst[16];
        const uint16_t count = fabric_queue.rx(&c, burst, 16);
        rte_pktmbuf_free_bulk(burst, count);
        return count;
    }
    uint32_t send(std::vector<rte_mbuf *> mbufs) {
        const uint16_t sent = fabric_queue.tx(&c, mbufs.data(), static_cast<uint16_t>(mbufs.size()));
        give_back({mbufs.begin() + sent, mbufs.end()});
        return sent;
    }

    rte_mempool *pool;
    fake_endpoint provider;
    fabric_channel c;
};

TEST_F(Channel, ADryQueueIsFilledAsSoonAsThereAreMbufs) {
    fabric_post_receives(c);
    ASSERT_EQ(provider.posted.size(), 8u);
    const std::vector<rte_mbuf *> rest = take(pool_size - 8);
    rte_mbuf *arrived[8];
    for (int i = 0; i < 8; i++) arrive();
    ASSERT_EQ(fabric_queue.rx(&c, arrived, 8), 8);
    EXPECT_EQ(c.rx.dry, 1u);
    EXPECT_GE(c.rx.no_mbufs, 1u);
    EXPECT_EQ(receive(), 0u);
    EXPECT_EQ(provider.posted.size(), 0u);
    give_back(rest);
    EXPECT_EQ(receive(), 0u);
    EXPECT_EQ(provider.posted.size(), 8u);
    arrive();
    EXPECT_EQ(receive(), 1u);
    rte_pktmbuf_free_bulk(arrived, 8);
}

TEST_F(Channel, APoolThatHasFewerMbufsGivesThose) {
    const std::vector<rte_mbuf *> others = take(pool_size - 3);
    fabric_post_receives(c);
    EXPECT_EQ(provider.posted.size(), 3u);
    give_back(others);
}

TEST_F(Channel, AProviderThatTakesFewerReceivesHasThose) {
    provider.most_receives = 5;
    fabric_post_receives(c);
    EXPECT_EQ(c.rx.posted.count, 5u);
    EXPECT_EQ(rte_mempool_avail_count(pool), pool_size - 5);
    EXPECT_EQ(c.rx.refused.total(), 0u);
}

TEST_F(Channel, APostThatIsRefusedForGoodIsNamed) {
    provider.refuses_posts = -FI_ENOTCONN;
    fabric_post_receives(c);
    fabric_post_receives(c);
    EXPECT_EQ(c.rx.refused.total(), 1u);
    EXPECT_EQ(rte_mempool_avail_count(pool), pool_size);
}

TEST_F(Channel, APacketWithAnErrorIsCountedAndItsMbufFreed) {
    fabric_post_receives(c);
    provider.receives.fail(provider.posted[3].context, FI_ETRUNC);
    EXPECT_EQ(receive(), 0u);
    EXPECT_EQ(c.rx.errors.total(), 1u);
    EXPECT_EQ(c.rx.posted.count, 8u);  // another one is posted
    named_counts said;
    c.rx.errors.append_to(said, "receive failed", libfabric().strerror);
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0].first, std::string("receive failed: ") + libfabric().strerror(FI_ETRUNC));
}

TEST_F(Channel, ReceivesThatEndWithTheirConnectionAreNoPackets) {
    fabric_post_receives(c);
    provider.refuses_posts = -FI_ENOTCONN;
    for (const fake_endpoint::receive &r : provider.posted) provider.receives.fail(r.context, FI_ECANCELED);
    for (int i = 0; i < 8; i++) EXPECT_EQ(receive(), 0u);
    EXPECT_EQ(c.rx.errors.total(), 0u);
    EXPECT_EQ(rte_mempool_avail_count(pool), pool_size);
}

TEST_F(Channel, ASendThatEndsWithAnErrorIsCountedAndItsMbufFreed) {
    for (const uint32_t every : {1u, 4u}) {
        c.tx.signal_every = every;
        ASSERT_EQ(send(take(6)), 6u);
        provider.sends.done.clear();
        provider.sends.fail(provider.log[2].context, FI_EHOSTUNREACH);
        fabric_reap(c);
        EXPECT_EQ(c.tx.errors.total(), 1u);
        EXPECT_EQ(c.tx.posted.count, 5u);
        c.tx.errors = {};
        provider.forget();
        fabric_free(c);
    }
}

TEST_F(Channel, ASendThatIsRefusedForGoodIsCountedAndFreed) {
    for (const uint32_t inline_bytes : {0u, 200u}) {
        c.tx.inline_bytes = inline_bytes;
        provider.refuses_sends = -FI_ENOTCONN;
        EXPECT_EQ(send(take(3)), 3u);
        EXPECT_EQ(c.tx.errors.total(), 3u);
        EXPECT_EQ(rte_mempool_avail_count(pool), pool_size);
        c.tx.errors = {};
    }
}

TEST_F(Channel, WhatTheProviderHasNoRoomForStaysTheSenders) {
    provider.most_sends = 3;
    EXPECT_EQ(send(take(5)), 3u);
    EXPECT_EQ(c.tx.full, 1u);
    EXPECT_EQ(c.tx.sent, 3u);
    EXPECT_EQ(rte_mempool_avail_count(pool), pool_size - 3);
}

// Nothing else would let a provider go on whose receiver does not poll.
TEST_F(Channel, ASenderThatWasRefusedPollsBeforeTheNextSend) {
    c.tx.inline_bytes = 200;
    provider.refuses_sends = -FI_EAGAIN;
    EXPECT_EQ(send(take(1)), 0u);
    EXPECT_EQ(provider.sends.reads, 0u);
    EXPECT_EQ(send(take(1)), 0u);
    EXPECT_EQ(provider.sends.reads, 1u);
    provider.refuses_sends = 0;
    EXPECT_EQ(send(take(1)), 1u);
    EXPECT_EQ(provider.sends.reads, 2u);
    EXPECT_EQ(send(take(1)), 1u);
    EXPECT_EQ(provider.sends.reads, 2u);
}

TEST_F(Channel, EachSoManiethSendIsSignalledAndThatOfTheLastPlace) {
    c.tx.signal_every = 3;
    ASSERT_EQ(send(take(8)), 8u);
    std::vector<bool> signalled;
    for (const fake_endpoint::sent &s : provider.log) signalled.push_back(s.signalled);
    EXPECT_EQ(signalled, std::vector<bool>({false, false, true, false, false, true, false, true}));
    EXPECT_EQ(send(take(1)), 1u);  // completions of all came: their mbufs are free
    EXPECT_EQ(rte_mempool_avail_count(pool), pool_size - 1);
}

}  // namespace
}  // namespace wt::test::rdma_channel_test
