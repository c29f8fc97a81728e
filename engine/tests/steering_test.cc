// The RSS key that sees nothing but the destination port, against DPDK's own Toeplitz hash. Starts no EAL.
#include "ports/steering.h"

#include <gtest/gtest.h>
#include <rte_thash.h>

namespace {

rte_eth_dev_info nic(uint16_t table, uint8_t key_bytes = 40) {
    rte_eth_dev_info info{};
    info.flow_type_rss_offloads = RTE_ETH_RSS_NONFRAG_IPV4_UDP;
    info.reta_size = table;
    info.hash_key_size = key_bytes;
    return info;
}

// The queue that a NIC with this set-up chooses for a packet.
uint16_t queue_of(const wt::rss_setup &setup, uint32_t from, uint32_t to, uint16_t from_port,
                  uint16_t to_port) {
    rte_ipv4_tuple tuple{};
    tuple.src_addr = from;
    tuple.dst_addr = to;
    tuple.sport = from_port;
    tuple.dport = to_port;
    const uint32_t hash =
        rte_softrss(reinterpret_cast<uint32_t *>(&tuple), RTE_THASH_V4_L4_LEN, setup.key.data());
    return setup.queue_of_entry[hash & (setup.queue_of_entry.size() - 1)];
}

TEST(Steering, EveryPortComesToItsQueueWhoeverSends) {
    for (const uint16_t table : {16, 64, 128, 512})
        for (const uint16_t queues : {2, 3, 16})
            for (const uint16_t first : {1, 9000, 65535 - 16}) {
                const wt::rss_setup setup =
                    wt::rss_for_ports(nic(table, table == 512 ? 52 : 40), first, queues);
                ASSERT_EQ(setup.queue_of_entry.size(), table);
                for (uint16_t q = 0; q < queues; q++)
                    for (const uint32_t other : {0x0a4d0001u, 0xc0a8ffffu, 1u})
                        for (const uint16_t source : {1, 9000, 54321})
                            EXPECT_EQ(
                                queue_of(setup, other, ~other, source, static_cast<uint16_t>(first + q)), q);
            }
}

TEST(Steering, AKeyIsAsLongAsTheDriverWantsIt) {
    EXPECT_EQ(wt::rss_for_ports(nic(128, 52), 9000, 2).key.size(), 52u);
    EXPECT_EQ(wt::rss_for_ports(nic(128, 0), 9000, 2).key.size(), 40u);
}

TEST(Steering, NoTableWhereNoneCanBeWrittenOrNeeded) {
    EXPECT_TRUE(wt::rss_for_ports(nic(0), 9000, 2).key.empty());
    EXPECT_TRUE(wt::rss_for_ports(nic(100), 9000, 2).key.empty());
    EXPECT_TRUE(wt::rss_for_ports(nic(2), 9000, 3).key.empty()) << "two ports would share an entry";
    EXPECT_TRUE(wt::rss_for_ports(nic(128), 9000, 1).key.empty());
    rte_eth_dev_info deaf = nic(128);
    deaf.flow_type_rss_offloads = RTE_ETH_RSS_NONFRAG_IPV4_TCP;
    EXPECT_FALSE(wt::hashes_udp(deaf));
    EXPECT_TRUE(wt::rss_for_ports(deaf, 9000, 2).key.empty());
}

TEST(Steering, RssIsAskedForOnlyWhereTheDriverHasIt) {
    const wt::rss_setup setup = wt::rss_for_ports(nic(128), 9000, 2);
    rte_eth_conf conf{};
    wt::ask_for_rss(conf, nic(128), setup);
    EXPECT_EQ(conf.rxmode.mq_mode, RTE_ETH_MQ_RX_RSS);
    EXPECT_EQ(conf.rx_adv_conf.rss_conf.rss_hf, RTE_ETH_RSS_NONFRAG_IPV4_UDP);
    EXPECT_EQ(conf.rx_adv_conf.rss_conf.rss_key, setup.key.data());
    EXPECT_EQ(conf.rx_adv_conf.rss_conf.rss_key_len, 40);
    rte_eth_conf none{};
    wt::ask_for_rss(none, rte_eth_dev_info{}, {});
    EXPECT_EQ(none.rxmode.mq_mode, RTE_ETH_MQ_RX_NONE);
}

}  // namespace
