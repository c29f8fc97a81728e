// What fast_free asks of all that a port sends: mbufs of the endpoint's pool, in one piece, with one owner
// and their own bytes. Starts EAL on ordinary memory.
#include "stages_rig.h"

namespace wt::test::stages_owners_test {
namespace {

const needs_eal eal(96);

// Gives a server frames in mbufs of its own pool, as a NIC does, and runs it until it has sent what it has.
void receive(rig &r, const std::vector<byte_vector> &frames) {
    for (const byte_vector &frame : frames) {
        rte_mbuf *m = rte_pktmbuf_alloc(r.f.pools[server]);
        ASSERT_NE(m, nullptr);
        std::memcpy(rte_pktmbuf_append(m, static_cast<uint16_t>(frame.size())), frame.data(), frame.size());
        ASSERT_EQ(rte_eth_tx_burst(r.f.endpoints[client].port->id, 0, &m, 1), 1);
    }
    for (int i = 0; i < 3; i++) r.loop(server);
}

// Takes off the wire what an endpoint has sent; returns how many packets that were.
uint32_t freed_fast(rig &r, size_t from) {
    uint32_t count = 0;
    rte_mbuf *m;
    while (rte_eth_rx_burst(r.f.endpoints[1 - from].port->id, 0, &m, 1) == 1) {
        EXPECT_EQ(m->pool, r.f.pools[from]);
        EXPECT_EQ(rte_mbuf_refcnt_read(m), 1);
        EXPECT_EQ(m->nb_segs, 1);
        EXPECT_EQ(m->next, nullptr);
        EXPECT_TRUE(RTE_MBUF_DIRECT(m));
        rte_mempool_put(r.f.pools[from], m);  // as a driver does: no look at anything
        count++;
    }
    return count;
}

TEST(owners, what_a_server_sends_may_be_freed_fast) {
    for (const char *mbuf : {"request", "new"}) {
        rig r(with("/endpoints/1/response_mbuf", mbuf));
        byte_vector arp(frame_min_bytes);
        arp_request_write(arp.data(), *r.p.endpoints[client].mac, r.p.endpoints[client].ip.v4,
                          r.p.endpoints[server].ip.v4);
        receive(r, {r.request(0, 1), arp, r.request(1, 1), r.request(2, 1)});
        EXPECT_EQ(freed_fast(r, server), 4u) << mbuf;
    }
}

TEST(owners, responses_of_several_packets_may_be_freed_fast) {
    json plan = rig_plan();
    plan["workloads"][0]["response_bytes"] = 4000;
    plan["workloads"][0]["handler"]["name"] = "empty";
    rig r(plan);
    receive(r, {r.request(0, 1), r.request(1, 1)});
    EXPECT_EQ(freed_fast(r, server), 6u);
}

TEST(owners, duplicates_and_requests_may_be_freed_fast) {
    rig r(with("/endpoints/0/port/faults",
               {{"loss", 0}, {"duplicate", 1}, {"reorder", 0}, {"reorder_depth", 1}}));
    for (int i = 0; i < 4; i++)
        for (const auto kind : {app_tx, disp_tx, nic_tx}) r.run(client, kind);
    EXPECT_EQ(freed_fast(r, client), 64u) << "32 requests, each twice";
}

TEST(owners, what_is_recorded_may_be_freed_fast) {
    rig r(rig_plan());
    const temporary_directory directory;
    recorder *recorder = recorder_open(directory / "run.pcap", false, 1, SOCKET_ID_ANY);
    r.disp(client).nic.record_tx = recorder;
    for (const auto kind : {app_tx, disp_tx, nic_tx}) r.run(client, kind);
    EXPECT_EQ(freed_fast(r, client), 32u) << "their copies are still with the recorder";
    EXPECT_EQ(recorder_close(recorder).sent, 32u);
    r.disp(client).nic.record_tx = nullptr;
}

}  // namespace
}  // namespace wt::test::stages_owners_test
