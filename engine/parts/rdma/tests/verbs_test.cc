// RDMA over libibverbs as far as it needs no device: chains and their mbufs on a device that the test drives,
// and what is refused where there is none. tests/guest flies it over rdma_rxe.
#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <cstring>
#include <set>

#include "core/packet.h"
#include "core/refusal.h"
#include "fake_verbs.h"
#include "parts/rdma/verbs/one_sided.h"
#include "suite.h"
#include "valid_plan.h"
#include "wires/port.h"
#include "wires_tools.h"

namespace wt::test::verbs_test {
namespace {

const needs_eal eal(64);

using json = nlohmann::ordered_json;
constexpr uint32_t pool_size = 511, key = 77;

struct Verbs : testing::Test {
    Verbs() {
        pool = rte_pktmbuf_pool_create("wt_verbs", pool_size, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
        c.pair = &device.pair;
        c.receives = &device.receives;
        c.sends = &device.sends;
        c.rx.pool = pool;
    }
    ~Verbs() override {
        verbs_free(c);
        EXPECT_EQ(rte_mempool_avail_count(pool), pool_size) << "mbufs are missing";
        rte_mempool_free(pool);
    }
    void prepare(uint32_t depth, uint32_t signal_every, uint32_t inline_bytes = 0, uint32_t ahead = 0) {
        c.rx.ahead = ahead;
        c.tx.signal_every = signal_every;
        c.tx.inline_bytes = inline_bytes;
        verbs_prepare(c, depth, depth, key);
    }
    std::vector<rte_mbuf *> make(uint32_t count, uint32_t bytes) {
        std::vector<rte_mbuf *> made(count);
        EXPECT_EQ(rte_pktmbuf_alloc_bulk(pool, made.data(), count), 0);
        for (rte_mbuf *m : made) set_length(m, message_offset + bytes);
        return made;
    }
    uint16_t send(std::vector<rte_mbuf *> packets) {
        return verbs_queue_ops.tx(&c, packets.data(), static_cast<uint16_t>(packets.size()));
    }
    uint32_t in_pool() const { return rte_mempool_avail_count(pool); }
    uint64_t named(const rdma_errors &errors, const std::string &name) const {
        named_counts all;
        errors.append_to(all, "x", [](int e) { return ibv_wc_status_str(static_cast<ibv_wc_status>(e)); });
        for (const auto &[known, count] : all)
            if (known == "x: " + name) return count;
        return 0;
    }

    rte_mempool *pool;
    fake_verbs device;
    verbs_channel c;
};

TEST_F(Verbs, ABurstIsOneChainAndEveryKthSendIsSignalled) {
    prepare(64, 5, 100);
    for (const uint32_t bytes : {100u, 101u}) {
        const std::vector<rte_mbuf *> packets = make(8, bytes);
        ASSERT_EQ(send(packets), 8);
        for (uint32_t i = 0; i < 8; i++) {
            const auto &[request, piece] = device.sent[device.sent.size() - 8 + i];
            EXPECT_EQ(piece.addr, reinterpret_cast<uintptr_t>(message_of(packets[i])));
            EXPECT_EQ(piece.length, bytes);
            EXPECT_EQ(piece.lkey, key);
            EXPECT_EQ(request.opcode, IBV_WR_SEND);
            EXPECT_EQ((request.send_flags & IBV_SEND_INLINE) != 0, bytes == 100);
        }
    }
    EXPECT_EQ(device.chains, (std::vector<uint32_t>{8, 8}));
    for (uint32_t i = 0; i < 16; i++) {
        EXPECT_EQ(device.sent[i].request.wr_id, i);
        EXPECT_EQ((device.sent[i].request.send_flags & IBV_SEND_SIGNALED) != 0, i % 5 == 4) << i;
    }
}

TEST_F(Verbs, ACompletionFreesWhatWasPostedBefore) {
    prepare(16, 4, 100);
    ASSERT_EQ(send(make(2, 64)), 2);  // copied: free at once
    EXPECT_EQ(in_pool(), pool_size);
    ASSERT_EQ(send(make(6, 200)), 6);
    EXPECT_EQ(in_pool(), pool_size - 6);
    device.end_send(3);
    verbs_reap(c);
    EXPECT_EQ(in_pool(), pool_size - 4);  // of the first four, two were copied
    EXPECT_EQ(sends_room(c.tx.posted), 12u);
    for (const uint64_t nobodys : {2ull, 3ull, 8ull, 1ull << 31, ~0ull}) device.end_send(nobodys);
    verbs_reap(c);
    EXPECT_EQ(in_pool(), pool_size - 4);
    for (uint32_t round = 1; round < 40; round++) {  // many times round the places
        ASSERT_EQ(send(make(4, 200)), 4);
        device.end_send(round * 4 + 3);
    }
    verbs_reap(c);
    EXPECT_EQ(in_pool(), pool_size - 4);
}

TEST_F(Verbs, AFullSendQueueIsCountedAndAlwaysHasASignalledSend) {
    prepare(8, 256);  // more than the queue is deep
    std::vector<rte_mbuf *> packets = make(10, 200);
    ASSERT_EQ(send(packets), 8);
    EXPECT_EQ(c.tx.full, 1u);
    EXPECT_TRUE(device.sent[7].request.send_flags & IBV_SEND_SIGNALED);
    EXPECT_EQ(send({packets[8], packets[9]}), 0);
    EXPECT_EQ(c.tx.full, 2u);
    EXPECT_EQ(device.chains.size(), 1u);  // nothing to post rings no doorbell
    device.end_send(7);
    EXPECT_EQ(send({packets[8], packets[9]}), 2);
    EXPECT_EQ(in_pool(), pool_size - 2);
}

TEST_F(Verbs, WhatADeviceDoesNotTakeStaysTheCallers) {
    prepare(32, 4);
    device.takes = 5;
    const std::vector<rte_mbuf *> packets = make(8, 200);
    ASSERT_EQ(send(packets), 5);
    EXPECT_EQ(c.tx.full, 1u);
    EXPECT_FALSE(c.broken);
    device.takes = SIZE_MAX;
    ASSERT_EQ(send({packets.begin() + 5, packets.end()}), 3);
    ASSERT_EQ(device.sent.size(), 8u);
    for (uint32_t i = 0; i < 8; i++) {
        EXPECT_EQ(device.sent[i].request.wr_id, i);
        EXPECT_EQ((device.sent[i].request.send_flags & IBV_SEND_SIGNALED) != 0, i % 4 == 3) << i;
    }
    device.takes = 0;
    device.error = EINVAL;
    std::vector<rte_mbuf *> refused = make(2, 200);
    EXPECT_EQ(send(refused), 0);
    EXPECT_EQ(c.tx.refused.total(), 1u);
    EXPECT_EQ(c.tx.errors.total(), 0u);  // no packet's send has failed
    EXPECT_TRUE(c.broken);
    rte_pktmbuf_free_bulk(refused.data(), 2);
}

TEST_F(Verbs, ASendThatFailsIsNamedAndItsMbufFreed) {
    prepare(16, 16);
    ASSERT_EQ(send(make(3, 200)), 3);
    device.end_send(0, IBV_WC_RETRY_EXC_ERR);  // which is told whether it was signalled or not
    device.end_send(1, IBV_WC_WR_FLUSH_ERR);
    device.end_send(2, IBV_WC_WR_FLUSH_ERR);
    verbs_reap(c);
    EXPECT_EQ(in_pool(), pool_size);
    EXPECT_TRUE(c.broken);
    EXPECT_EQ(named(c.tx.errors, ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR)), 1u);
    EXPECT_EQ(named(c.tx.errors, ibv_wc_status_str(IBV_WC_WR_FLUSH_ERR)), 2u);
}

TEST_F(Verbs, ReceivesArePostedInChainsAndDatagramsBehindTheirRoute) {
    prepare(80, 1, 0, route_header_bytes);
    verbs_post_receives(c);
    EXPECT_EQ(device.receive_chains, (std::vector<uint32_t>{32, 32, 16}));
    auto *const first = reinterpret_cast<rte_mbuf *>(device.posted.front().id);
    const ibv_sge piece = device.posted.front().piece;
    EXPECT_EQ(piece.addr, reinterpret_cast<uintptr_t>(message_of(first)) - 40);
    EXPECT_GE(piece.addr, reinterpret_cast<uintptr_t>(frame_of(first)));
    EXPECT_EQ(piece.addr + piece.length,
              reinterpret_cast<uintptr_t>(first->buf_addr) + rte_pktmbuf_data_room_size(pool));
    device.arrive(40 + 64);
    rte_mbuf *got[4];
    ASSERT_EQ(verbs_queue_ops.rx(&c, got, 4), 1);
    EXPECT_EQ(got[0], first);
    EXPECT_EQ(got[0]->pkt_len, message_offset + 64);
    rte_pktmbuf_free(got[0]);
}

TEST_F(Verbs, ADryQueueAndAnEmptyPoolAreCounted) {
    prepare(8, 1);
    verbs_post_receives(c);
    std::vector<rte_mbuf *> rest = make(pool_size - 8, 64);
    for (int i = 0; i < 8; i++) device.arrive(64);
    rte_mbuf *got[8];
    ASSERT_EQ(verbs_queue_ops.rx(&c, got, 8), 8);
    EXPECT_EQ(c.rx.dry, 1u);
    EXPECT_EQ(c.rx.no_mbufs, 1u);
    rte_pktmbuf_free_bulk(got, 3);
    EXPECT_EQ(verbs_queue_ops.rx(&c, got, 8), 0);  // a look finds that there are mbufs again, if few
    EXPECT_EQ(device.posted.size(), 3u);
    rte_pktmbuf_free_bulk(got + 3, 5);
    rte_pktmbuf_free_bulk(rest.data(), static_cast<unsigned>(rest.size()));
}

TEST_F(Verbs, AReceiveThatFailsIsNamedAndOneThatEndsWithItsQueueIsNone) {
    prepare(8, 1);
    verbs_post_receives(c);
    device.arrive(0, IBV_WC_LOC_LEN_ERR);
    for (int i = 0; i < 7; i++) device.arrive(0, IBV_WC_WR_FLUSH_ERR);
    rte_mbuf *got[8];
    EXPECT_EQ(verbs_queue_ops.rx(&c, got, 8), 0);
    EXPECT_EQ(named(c.rx.errors, ibv_wc_status_str(IBV_WC_LOC_LEN_ERR)), 1u);
    EXPECT_EQ(c.rx.errors.total(), 1u);
    EXPECT_EQ(device.posted.size(), 0u);  // nothing is posted to what is broken
    EXPECT_EQ(in_pool(), pool_size);
}

TEST_F(Verbs, ReceivesThatADeviceDoesNotTakeGoBack) {
    prepare(64, 1);
    device.takes = 40;
    verbs_post_receives(c);
    EXPECT_EQ(device.posted.size(), 40u);
    EXPECT_EQ(in_pool(), pool_size - 40);
    EXPECT_EQ(c.rx.full, 1u);
    device.takes = 0;
    device.error = -EINVAL;  // as some drivers say it
    verbs_post_receives(c);
    EXPECT_EQ(c.rx.refused.total(), 1u);
    EXPECT_TRUE(c.broken);
}

// Reads of a region of two pieces, which stands in for that of a server.
struct VerbsReads : Verbs {
    VerbsReads() : reads(c) {
        prepare(16, 1);
        random_bytes_fill(region_seed, region.data(), region.size());
        reads.places.region = {2048, 1024};
        reads.places.local = pieces.data();
        reads.remote = 1 << 20;
        reads.remote_key = 5;
        reads.local_key = 6;
        reads.message_key = key;
        places_open(reads.places, 4);
    }
    ~VerbsReads() override { places_free(reads.places); }
    std::vector<rte_mbuf *> requests(uint32_t count) {
        std::vector<rte_mbuf *> made = make(count, 22);
        for (uint32_t i = 0; i < count; i++)
            message_header_write(message_of(made[i]), {message_kind::request, 0, 3, i, 1, 0, 1});
        return made;
    }
    uint16_t post(std::vector<rte_mbuf *> packets) {
        return verbs_one_sided_ops.tx(&reads, packets.data(), static_cast<uint16_t>(packets.size()));
    }
    // As a device does it.
    void carry_out(const fake_verbs::send &s) {
        std::memcpy(reinterpret_cast<void *>(s.piece.addr),
                    region.data() + (s.request.wr.rdma.remote_addr - reads.remote), s.piece.length);
        device.end_send(s.request.wr_id);
    }
    uint16_t take(rte_mbuf **to) { return verbs_one_sided_ops.rx(&reads, to, 8); }

    std::vector<uint8_t> region = std::vector<uint8_t>(2048), pieces = std::vector<uint8_t>(4096);
    verbs_one_sided reads;
};

TEST_F(VerbsReads, OperationsAndAHelloAreOneChainAndCompletionsAreResponses) {
    std::vector<rte_mbuf *> packets = requests(3);
    packets.insert(packets.begin() + 1, make(1, 64)[0]);
    message_of(packets[1])[0] = static_cast<uint8_t>(message_kind::hello);
    ASSERT_EQ(post(packets), 4);
    EXPECT_EQ(device.chains, (std::vector<uint32_t>{4}));
    EXPECT_EQ(device.sent[1].request.opcode, IBV_WR_SEND);
    EXPECT_EQ(device.sent[1].piece.lkey, key);
    EXPECT_EQ(device.sent[0].request.opcode, IBV_WR_RDMA_READ);
    EXPECT_EQ(device.sent[0].request.wr.rdma.rkey, 5u);
    EXPECT_EQ(device.sent[0].piece.lkey, 6u);
    for (const uint32_t i : {0u, 2u, 3u}) carry_out(device.sent[i]);
    device.end_send(device.sent[1].request.wr_id);
    device.end_send(99);  // nobody's
    rte_mbuf *got[8];
    ASSERT_EQ(take(got), 3);
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(message_header_read(message_of(got[i])).kind, message_kind::response);
        EXPECT_EQ(got[i]->pkt_len, body_offset);
        rte_pktmbuf_free(got[i]);
    }
    EXPECT_EQ(reads.places.done, 3u);
    EXPECT_EQ(in_pool(), pool_size);
}

TEST_F(VerbsReads, PlacesBoundThemAndComeBackFromPostsThatFail) {
    std::vector<rte_mbuf *> packets = requests(6);
    device.takes = 2;
    ASSERT_EQ(post(packets), 2);
    device.takes = SIZE_MAX;
    ASSERT_EQ(post({packets.begin() + 2, packets.end()}), 2);
    EXPECT_EQ(post({packets.begin() + 4, packets.end()}), 0);
    EXPECT_EQ(c.tx.full, 4u);  // once by the device, and in each of three calls for want of places
    std::set<uint64_t> places;
    for (const auto &s : device.sent) places.insert(s.request.wr_id);
    EXPECT_EQ(places.size(), 4u);
    rte_pktmbuf_free_bulk(packets.data() + 4, 2);
}

TEST_F(VerbsReads, AWrongPieceAndAFailedOperationAreNoResponses) {
    ASSERT_EQ(post(requests(2)), 2);
    region[0] ^= 1;
    region[1024] ^= 1;
    carry_out(device.sent[0]);
    device.end_send(device.sent[1].request.wr_id, IBV_WC_REM_ACCESS_ERR);
    rte_mbuf *got[8];
    EXPECT_EQ(take(got), 0);
    EXPECT_EQ(reads.places.wrong, 1u);
    EXPECT_EQ(named(c.tx.errors, ibv_wc_status_str(IBV_WC_REM_ACCESS_ERR)), 1u);
    EXPECT_TRUE(c.broken);
    EXPECT_EQ(in_pool(), pool_size);
}

std::string refusal_of(const wire_texts &options, rte_mempool *pool) {
    json p = valid_plan();
    for (json &e : p["endpoints"]) {
        const bool client = e["side"] == "client";
        e["ip"] = client ? "127.0.0.2" : "127.0.0.1";
        e["peer_ip"] = client ? "127.0.0.1" : "127.0.0.2";
        e["peer_udp_port"] = e["udp_port"];
        for (const char *none : {"faults", "link", "rx_free_thresh", "tx_free_thresh", "tx_rs_thresh"})
            e["port"][none] = nullptr;
        put_on(e, "rdma", options);
    }
    const plan read = read_plan(p.dump());
    try {
        open_ports(read, {pool, pool});
        return "";
    } catch (const refusal &r) {
        return std::string(r.what()) + "; " + r.remedy();
    }
}

TEST_F(Verbs, RefusesAnAddressThatNoDeviceHas) {
    for (const char *type : {"rc", "ud"}) {
        const std::string said = refusal_of({{"type", type}, {"provider", "verbs"}}, pool);
        EXPECT_NE(said.find("rdma wire: no RDMA device has the address 127.0.0.2 of client.ip"), said.npos)
            << said;
        EXPECT_NE(said.find("rdma link add rxe0 type rxe"), said.npos) << said;
    }
    EXPECT_NE(refusal_of({{"type", "rdm"}, {"provider", "verbs"}}, pool)
                  .find("the provider verbs has no type rdm; provider = \"shm\" or \"efa\", or another type"),
              std::string::npos);
}

}  // namespace
}  // namespace wt::test::verbs_test
