// The RSS key that sees nothing but the destination port, against DPDK's own Toeplitz hash; and which way is
// taken with which driver. Starts no EAL: the driver is a stand-in, linked before DPDK's own functions.
#include "wires/steering.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <rte_flow.h>
#include <rte_thash.h>

#include <map>

#include "core/refusal.h"
#include "test_tools.h"

namespace {

using wt::test::contains;

// A driver that takes so many rules, and may write its table.
struct stand_in {
    size_t rules_at_most = 0;
    bool wants_protocol = false;  // in the IPv4 of a rule
    bool table_writes = true;
    std::map<uint16_t, uint16_t> rules = {};  // UDP port -> queue
    std::vector<uint16_t> table = {};
};
stand_in driver;

}  // namespace

extern "C" {

rte_flow *rte_flow_create(uint16_t, const rte_flow_attr *attributes, const rte_flow_item pattern[],
                          const rte_flow_action actions[], rte_flow_error *error) {
    static char something;
    if (driver.rules.size() == driver.rules_at_most) return error->message = "no more", nullptr;
    if (driver.wants_protocol && pattern[1].spec == nullptr) return error->message = "no protocol", nullptr;
    if (pattern[1].spec != nullptr) {
        EXPECT_EQ(static_cast<const rte_flow_item_ipv4 *>(pattern[1].spec)->hdr.next_proto_id, IPPROTO_UDP);
        EXPECT_EQ(static_cast<const rte_flow_item_ipv4 *>(pattern[1].mask)->hdr.next_proto_id, 0xff);
    }
    EXPECT_EQ(attributes->ingress, 1u);
    EXPECT_EQ(pattern[0].type, RTE_FLOW_ITEM_TYPE_ETH);
    EXPECT_EQ(pattern[1].type, RTE_FLOW_ITEM_TYPE_IPV4);
    EXPECT_EQ(pattern[2].type, RTE_FLOW_ITEM_TYPE_UDP);
    EXPECT_EQ(pattern[3].type, RTE_FLOW_ITEM_TYPE_END);
    const auto &to = *static_cast<const rte_flow_item_udp *>(pattern[2].spec);
    const auto &mask = *static_cast<const rte_flow_item_udp *>(pattern[2].mask);
    EXPECT_EQ(mask.hdr.dst_port, 0xffff);
    EXPECT_EQ(mask.hdr.src_port, 0);
    EXPECT_EQ(actions[0].type, RTE_FLOW_ACTION_TYPE_QUEUE);
    EXPECT_EQ(actions[1].type, RTE_FLOW_ACTION_TYPE_END);
    driver.rules[rte_be_to_cpu_16(to.hdr.dst_port)] =
        static_cast<const rte_flow_action_queue *>(actions[0].conf)->index;
    return reinterpret_cast<rte_flow *>(&something);
}

int rte_flow_flush(uint16_t, rte_flow_error *) { return driver.rules.clear(), 0; }

int rte_eth_dev_rss_reta_update(uint16_t, rte_eth_rss_reta_entry64 *groups, uint16_t size) {
    if (!driver.table_writes) return -ENOTSUP;
    for (uint16_t i = 0; i < size; i++) {
        const rte_eth_rss_reta_entry64 &group = groups[i / RTE_ETH_RETA_GROUP_SIZE];
        EXPECT_TRUE(group.mask >> i % RTE_ETH_RETA_GROUP_SIZE & 1);
        driver.table.push_back(group.reta[i % RTE_ETH_RETA_GROUP_SIZE]);
    }
    return 0;
}
}

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

TEST(Steering, EveryPortReachesItsQueueFromAnySender) {
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

TEST(Steering, KeyHasTheLengthThatTheDriverRequires) {
    EXPECT_EQ(wt::rss_for_ports(nic(128, 52), 9000, 2).key.size(), 52u);
    EXPECT_EQ(wt::rss_for_ports(nic(128, 0), 9000, 2).key.size(), 40u);
}

TEST(Steering, NoTableWhereNoneIsWritableOrNeeded) {
    EXPECT_TRUE(wt::rss_for_ports(nic(0), 9000, 2).key.empty());
    EXPECT_TRUE(wt::rss_for_ports(nic(100), 9000, 2).key.empty());
    EXPECT_TRUE(wt::rss_for_ports(nic(2), 9000, 3).key.empty()) << "two ports would share an entry";
    EXPECT_TRUE(wt::rss_for_ports(nic(128), 9000, 1).key.empty());
    rte_eth_dev_info deaf = nic(128);
    deaf.flow_type_rss_offloads = RTE_ETH_RSS_NONFRAG_IPV4_TCP;
    EXPECT_FALSE(wt::hashes_udp(deaf));
    EXPECT_TRUE(wt::rss_for_ports(deaf, 9000, 2).key.empty());
}

TEST(Steering, RssIsRequestedOnlyWhereTheDriverHasIt) {
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

// Steers three queues from UDP port 4000 on; returns the note, or the refusal.
constexpr uint16_t first_port = 4000;

std::string steered(enum wt::steering way, const stand_in &with, const rte_eth_dev_info &info) {
    wt::port made{.queues = 3, .driver = "net_stand_in"};
    driver = with;
    const std::string words = wt::test::refusal_of(
        [&] { wt::steer(made, first_port, way, info, wt::rss_for_ports(info, first_port, made.queues)); });
    return words.empty() ? made.notes.at(0) : words;
}

const std::map<uint16_t, uint16_t> three_rules = {{4000, 0}, {4001, 1}, {4002, 2}};

TEST(Steering, RulesWhereTheDriverTakesThem) {
    for (const wt::steering way : {wt::steering::automatic, wt::steering::flow}) {
        EXPECT_TRUE(contains(steered(way, {.rules_at_most = 3}, nic(128)), "rte_flow rules bring"))
            << static_cast<int>(way);
        EXPECT_EQ(driver.rules, three_rules);
    }
}

TEST(Steering, RulesOfADriverThatWantsTheProtocol) {
    const stand_in igb{.rules_at_most = 3, .wants_protocol = true};
    EXPECT_TRUE(contains(steered(wt::steering::flow, igb, nic(128)), "rte_flow rules bring"));
    EXPECT_EQ(driver.rules, three_rules);
}

// A driver takes rules that its device does not know: QEMU's igb.
TEST(Steering, RssStandsBehindRulesUnlessTheyAreToDoItAlone) {
    EXPECT_TRUE(contains(steered(wt::steering::automatic, {.rules_at_most = 3}, nic(128)),
                         "to its queue, and so does RSS, where they do not; what comes to another queue"));
    EXPECT_EQ(driver.table, wt::rss_for_ports(nic(128), 4000, 3).queue_of_entry);
    EXPECT_TRUE(contains(steered(wt::steering::flow, {.rules_at_most = 3}, nic(128)),
                         "to its queue; what comes to another queue"));
    EXPECT_TRUE(driver.table.empty());
    EXPECT_TRUE(
        contains(steered(wt::steering::automatic, {.rules_at_most = 3, .table_writes = false}, nic(128)),
                 "to its queue; what comes to another queue"));
}

TEST(Steering, RssWhereTheDriverRejectsARule) {
    EXPECT_TRUE(
        contains(steered(wt::steering::automatic, {.rules_at_most = 2}, nic(128)), "RSS, with a key"));
    EXPECT_TRUE(driver.rules.empty()) << "the rules before it are gone";
    EXPECT_EQ(driver.table, wt::rss_for_ports(nic(128), 4000, 3).queue_of_entry);
}

TEST(Steering, RssWhereThePlanRequestsIt) {
    EXPECT_TRUE(contains(steered(wt::steering::rss, {.rules_at_most = 3}, nic(128)), "RSS, with a key"));
    EXPECT_TRUE(driver.rules.empty());
}

TEST(Steering, TheDriversOwnHashWhereItsTableCannotBeWritten) {
    EXPECT_TRUE(contains(steered(wt::steering::automatic, {.table_writes = false}, nic(128)),
                         "as its own hash has it"));
    EXPECT_TRUE(contains(steered(wt::steering::rss, {}, nic(0)), "as its own hash has it"));
    EXPECT_TRUE(contains(steered(wt::steering::rss, {}, nic(0)), "misdirected"));
}

TEST(Steering, RefusalsNameTheCause) {
    EXPECT_TRUE(contains(steered(wt::steering::flow, {.rules_at_most = 2}, nic(128)),
                         "net_stand_in rejects an rte_flow rule from a UDP port to a queue: no more"));
    EXPECT_TRUE(contains(steered(wt::steering::automatic, {}, {}),
                         "has no RSS over UDP ports and no rte_flow rules (no more)"));
    EXPECT_TRUE(
        contains(steered(wt::steering::rss, {.rules_at_most = 3}, {}), "no rte_flow rules (not asked for)"));
}

}  // namespace
