// NICs that may do less than others, by a stand-in for their driver.
#include "nic_stand_in.h"

namespace wt::test {
namespace {

constexpr mac_address planned = {{0x02, 0, 0, 0, 0, 0x02}};

bool is(const mac_address &a, const void *bytes) { return std::memcmp(a.bytes, bytes, sizeof a.bytes) == 0; }

TEST(nic, the_plans_mac_is_set) {
    nic_server server;
    EXPECT_EQ(server.open(), "");
    EXPECT_TRUE(is(planned, nic.mac.addr_bytes));
    EXPECT_TRUE(is(server.mac, planned.bytes));
    EXPECT_FALSE(nic.takes_every_frame);
}

TEST(nic, an_endpoint_without_a_mac_has_the_nics_own) {
    nic_server server;
    server.endpoint()["mac"] = nullptr;
    nic.setting_mac = nic.taking_every_frame = -EPERM;
    EXPECT_EQ(server.open(), "");
    EXPECT_TRUE(is(server.mac, stand_in_mac.addr_bytes));
    EXPECT_TRUE(
        server.notes_have("the server has the MAC of NIC 0000:02:00.0 (net_stand_in): 02:aa:bb:cc:dd:01"));
}

TEST(nic, an_own_mac_that_is_none_is_refused) {
    nic_server server;
    server.endpoint()["mac"] = nullptr;
    nic.mac = {};
    EXPECT_TRUE(contains(server.open(), "its own MAC is 00:00:00:00:00:00, which is no station's"));
}

TEST(nic, a_mac_that_the_nic_refuses_is_refused_with_the_remedy) {
    nic_server server;
    nic.setting_mac = -EPERM;
    EXPECT_EQ(server.open(),
              "NIC 0000:02:00.0 (net_stand_in): it refuses the MAC 02:00:00:00:00:02: Operation not permitted"
              " / use server.mac = \"nic\": what is sent to the NIC's own MAC comes in");
    EXPECT_FALSE(nic.takes_every_frame) << "a virtual function may say yes and still be deaf";
}

TEST(nic, where_a_mac_cannot_be_set_every_frame_is_taken_and_a_note_says_so) {
    nic_server server;
    nic.setting_mac = -ENOTSUP;
    EXPECT_EQ(server.open(), "");
    EXPECT_TRUE(nic.takes_every_frame);
    EXPECT_TRUE(is(server.mac, planned.bytes));
    EXPECT_TRUE(server.notes_have("its MAC cannot be set: it takes every frame (promiscuous)"));
}

TEST(nic, one_that_can_do_neither_would_be_deaf_and_is_refused) {
    for (const int error : {-ENOTSUP, -EPERM}) {
        nic_server server;
        nic.setting_mac = -ENOTSUP;
        nic.taking_every_frame = error;
        const std::string words = server.open();
        EXPECT_TRUE(contains(words, "its MAC cannot be set, and it does not take every frame")) << words;
        EXPECT_TRUE(contains(words, "use server.mac = \"nic\"")) << words;
    }
}

TEST(nic, a_wire_whose_port_has_no_mac_needs_one) {
    nlohmann::ordered_json p = valid_plan();
    for (auto &e : p["endpoints"]) put_on(e, "ring");
    p["endpoints"][0]["port"]["options"] = p["endpoints"][1]["port"]["options"] =
        nlohmann::ordered_json::object();
    p["endpoints"][1]["mac"] = nullptr;
    const std::string words = refusal_of([&] { open_ports(read_plan(p.dump()), {}); });
    EXPECT_TRUE(contains(words, "endpoints[1].port.wire: the endpoint has no MAC, nor has a port")) << words;
}

std::string opened_with(const std::string &address) {
    nic_server server;
    nic.devices = {"0000:01:00.0", "0000:02:00.0", "0000:02:00.0", "0000:01:00.0"};
    server.endpoint()["port"]["options"]["pci"] = address;
    const std::string words = server.open();
    return words.empty() ? std::to_string(nic.opened) : words;
}

// As a ConnectX-3 has two: the driver numbers them, and names them as it likes.
TEST(nic, a_port_is_one_of_its_devices_by_its_number) {
    EXPECT_EQ(opened_with("0000:02:00.0"), "1");
    EXPECT_EQ(opened_with("0000:02:00.0/1"), "2");
    EXPECT_EQ(opened_with("0000:01:00.0/1"), "3");
}

TEST(nic, a_port_that_the_device_does_not_have_is_refused) {
    EXPECT_EQ(
        opened_with("0000:02:00.0/2"),
        "NIC 0000:02:00.0/2: its driver made 2 ports at this address / use a number below 2, or none for "
        "the first port");
    EXPECT_TRUE(contains(opened_with("0000:03:00.0/1"), "NIC 0000:03:00.0/1: no DPDK driver claimed it"));
    EXPECT_TRUE(contains(opened_with("0000:02:00.0/x"), "is no number of a port"));
}

TEST(nic, one_queue_is_said) {
    nic_server server(2);
    nic.info.max_rx_queues = 1;
    EXPECT_EQ(server.open(),
              "NIC 0000:02:00.0 (net_stand_in): 2 queues, it has at most 1"
              " / use fewer dispatchers: each has one queue");
    EXPECT_EQ(nic.queues_set_up, 0);
}

TEST(nic, without_rss_two_queues_cannot_be_separated) {
    nic_server server(2);
    nic.info.flow_type_rss_offloads = 0;
    const std::string words = server.open();
    EXPECT_EQ(words,
              "NIC 0000:02:00.0 (net_stand_in) has no RSS over UDP ports and no rte_flow rules (no rules): 2 "
              "queues cannot be separated / use one dispatcher, which is one queue");
    EXPECT_EQ(nic.asked.rxmode.mq_mode, RTE_ETH_MQ_RX_NONE) << "what it has not is not asked for";
}

TEST(nic, without_rss_one_queue_is_enough) {
    nic_server server;
    nic.info.flow_type_rss_offloads = 0;
    EXPECT_EQ(server.open(), "");
}

constexpr uint64_t rx_sums = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM,
                   tx_sums = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM,
                   fast_free = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;

TEST(nic, computes_and_checks_checksums_where_it_can) {
    nic_server server;
    EXPECT_EQ(server.open(), "");
    EXPECT_EQ(nic.asked.rxmode.offloads, rx_sums);
    EXPECT_EQ(nic.asked.txmode.offloads, tx_sums | fast_free);
    EXPECT_EQ(server.tx_checksums, RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_IP_CKSUM);
    EXPECT_TRUE(server.checks_received);
    EXPECT_TRUE(
        server.notes_have("UDP packets that it sends: the port computes UDP and IPv4 checksums; that it "
                          "receives: the port checks UDP and IPv4 checksums"));
}

TEST(nic, without_checksums_ours_are_computed_and_a_note_says_so) {
    nic_server server;
    nic.info.rx_offload_capa = nic.info.tx_offload_capa = 0;
    EXPECT_EQ(server.open(), "");
    EXPECT_EQ(nic.asked.rxmode.offloads | nic.asked.txmode.offloads, 0u);
    EXPECT_EQ(server.tx_checksums, 0u);
    EXPECT_FALSE(server.checks_received);
    EXPECT_TRUE(
        server.notes_have("sends: disp_tx computes UDP and IPv4 checksums; that it receives: disp_rx checks "
                          "UDP and IPv4 checksums"));
    EXPECT_TRUE(server.notes_have("it has no fast_free"));
}

TEST(nic, one_that_knows_udp_alone_leaves_ipv4_to_us) {
    nic_server server;
    nic.info.rx_offload_capa = RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
    nic.info.tx_offload_capa = RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
    EXPECT_EQ(server.open(), "");
    EXPECT_EQ(nic.asked.rxmode.offloads, RTE_ETH_RX_OFFLOAD_UDP_CKSUM);
    EXPECT_EQ(nic.asked.txmode.offloads, RTE_ETH_TX_OFFLOAD_UDP_CKSUM);
    EXPECT_EQ(server.tx_checksums, RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM);
    EXPECT_TRUE(server.notes_have(
        "the port computes UDP checksums, disp_tx those of IPv4; that it receives: the port "
        "checks UDP checksums, disp_rx those of IPv4"));
}

TEST(nic, one_that_knows_ipv4_alone_is_not_asked) {
    nic_server server;
    nic.info.rx_offload_capa = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM;
    nic.info.tx_offload_capa = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM;
    EXPECT_EQ(server.open(), "");
    EXPECT_EQ(nic.asked.rxmode.offloads | nic.asked.txmode.offloads, 0u);
    EXPECT_TRUE(!server.checks_received && server.tx_checksums == 0);
}

TEST(nic, what_a_plan_does_not_ask_for_is_ours) {
    nic_server server;
    server.endpoint()["port"]["options"]["offloads"] = "";
    EXPECT_EQ(server.open(), "");
    EXPECT_EQ(nic.asked.rxmode.offloads | nic.asked.txmode.offloads, 0u);
    EXPECT_TRUE(!server.checks_received && server.tx_checksums == 0);
    EXPECT_FALSE(server.notes_have("fast_free"));
}

TEST(nic, without_udp_checksums_none_is_computed) {
    nic_server server;
    server.endpoint()["port"]["udp_checksum"] = false;
    EXPECT_EQ(server.open(), "");
    EXPECT_EQ(nic.asked.txmode.offloads, fast_free);
    EXPECT_EQ(server.tx_checksums, 0u);
    EXPECT_TRUE(
        server.notes_have("sends: disp_tx computes IPv4 checksums; that it receives: the port checks"));
}

// Bodies that are sent without a copy are mbufs of another pool, with bytes of the source.
TEST(nic, frees_one_by_one_where_mbufs_come_from_two_pools) {
    nic_server server;
    server.endpoint()["port"].update({{"chains", true}, {"udp_checksum", false}});
    EXPECT_EQ(server.open(), "");
    EXPECT_EQ(nic.asked.txmode.offloads, RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
    EXPECT_TRUE(server.notes_have("no fast_free: bodies are sent without a copy"));
}

}  // namespace
}  // namespace wt::test
