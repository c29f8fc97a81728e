// Endpoints in a VLAN: nic_tx tags, nic_rx takes tags off, and what is not in the VLAN has a name. Starts EAL
// on ordinary memory.
#include "core/vlan.h"

#include "stages/tagging.h"
#include "stages_rig.h"

namespace wt::test::vlan_test {
namespace {

const needs_eal eal(64);

constexpr uint32_t type_8021q = 0x8100, type_8021ad = 0x88a8;

json plan_in_vlan() {
    json plan = rig_plan();
    for (json &e : plan["endpoints"]) e["vlan"] = {{"id", 100}, {"priority", 5}};
    return plan;
}

byte_vector with_tag(byte_vector frame, uint32_t type, uint32_t control) {
    const uint8_t tag[] = {static_cast<uint8_t>(type >> 8), static_cast<uint8_t>(type),
                           static_cast<uint8_t>(control >> 8), static_cast<uint8_t>(control)};
    frame.insert(frame.begin() + 12, std::begin(tag), std::end(tag));
    return frame;
}

TEST(vlan, everything_that_is_sent_has_the_tag) {
    rig r(plan_in_vlan());
    const auto frames = r.sent(client);
    ASSERT_FALSE(frames.empty());
    for (const byte_vector &frame : frames) {
        EXPECT_EQ(big16(frame, 12), type_8021q);
        EXPECT_EQ(big16(frame, 14), 5u << 13 | 100);
        EXPECT_EQ(big16(frame, 16), 0x0800u);
        EXPECT_EQ(frame.size(), frame_header_bytes + 86 + vlan_tag_bytes);
        EXPECT_TRUE(std::equal(frame.begin(), frame.begin() + 6, r.p.endpoints[server].mac->bytes));
    }
    EXPECT_EQ(r.stats(client, disp_tx).tx_bytes + r.stats(client, nic_tx).tx_bytes,
              frames.size() * frames[0].size());
}

TEST(vlan, messages_go_there_and_back) {
    for (const std::vector<std::string> &apart : {std::vector<std::string>{}, {"nic_tx"}, {"nic_rx"}}) {
        json plan = plan_in_vlan();
        if (!apart.empty()) part(plan, apart);
        rig r(plan);
        r.loops(50);
        EXPECT_GT(r.stats(client, app_rx).responses, 100u);
        EXPECT_TRUE(r.drops(client).empty() && r.drops(server).empty());
    }
}

TEST(vlan, a_port_without_room_gets_no_tag_twice) {
    json plan = plan_in_vlan();
    plan["endpoints"][server]["port"]["rx_descriptors"] = 8;  // towards the server: room for a few
    rig r(plan);
    for (int i = 0; i < 20; i++) {
        for (const byte_vector &frame : r.sent(client)) {
            ASSERT_EQ(vlan_tags_in(frame.data(), static_cast<uint32_t>(frame.size())), 1u);
            ASSERT_EQ(frame.size(), frame_header_bytes + 86 + vlan_tag_bytes);
        }
    }
}

TEST(vlan, emulation_works_on_frames_with_tags) {
    json plan = plan_in_vlan();
    plan["endpoints"][client]["port"]["faults"] = {
        {"loss", 0}, {"duplicate", 1}, {"reorder", 0}, {"reorder_depth", 1}};
    rig r(plan);
    uint64_t bytes = 0;
    for (const byte_vector &frame : r.sent(client)) {
        EXPECT_EQ(vlan_tags_in(frame.data(), static_cast<uint32_t>(frame.size())), 1u);
        bytes += frame.size();
    }
    EXPECT_GT(bytes, 0u);
    EXPECT_EQ(r.stats(client, disp_tx).tx_bytes + r.stats(client, nic_tx).tx_bytes, bytes);
}

TEST(vlan, arp_gets_its_response_in_the_vlan) {
    rig r(plan_in_vlan());
    byte_vector frame(frame_min_bytes);
    arp_request_write(frame.data(), *r.p.endpoints[client].mac, r.p.endpoints[client].ip.v4,
                      r.p.endpoints[server].ip.v4);
    r.deliver(server, {with_tag(frame, type_8021q, 100)});
    r.loop(server);
    const auto replies = r.taken_off(client);
    ASSERT_EQ(replies.size(), 1u);
    EXPECT_EQ(big16(replies[0], 14), 5u << 13 | 100);
    EXPECT_EQ(big16(replies[0], 16), 0x0806u);
}

TEST(vlan, what_is_not_in_it_is_dropped_by_name) {
    rig r(plan_in_vlan());
    const byte_vector plain = r.request(0, 1);
    r.deliver(server, {plain, with_tag(plain, type_8021q, 101), with_tag(plain, type_8021q, 0),
                       with_tag(plain, type_8021ad, 100),
                       with_tag(with_tag(plain, type_8021q, 100), type_8021ad, 100),
                       with_tag(with_tag(plain, type_8021q, 7), type_8021q, 100), byte_vector(13, 0)});
    r.loop(server);
    EXPECT_EQ(r.drops(server),
              (counts{{"untagged", 1}, {"other_vlan", 3}, {"double_tagged", 2}, {"runt", 1}}));
    EXPECT_EQ(r.stats(server, disp_rx).rx_bytes + r.stats(server, nic_rx).rx_bytes,
              7 * plain.size() - plain.size() + 13 + 3 * vlan_tag_bytes + 2 * 2 * vlan_tag_bytes);
}

TEST(vlan, priority_and_drop_eligibility_of_what_is_received_do_not_matter) {
    rig r(plan_in_vlan());
    const byte_vector plain = r.request(0, 1);
    r.deliver(server, {with_tag(plain, type_8021q, 0xf000 | 100), with_tag(plain, type_8021q, 100)});
    r.loop(server);
    EXPECT_TRUE(r.drops(server).empty());
    EXPECT_EQ(r.taken_off(client).size(), 2u);
}

TEST(vlan, without_one_tags_have_names_too) {
    rig r(rig_plan());
    const byte_vector plain = r.request(0, 1);
    r.deliver(server, {with_tag(plain, type_8021q, 100), with_tag(plain, type_8021ad, 100),
                       with_tag(with_tag(plain, type_8021q, 100), type_8021ad, 100)});
    r.loop(server);
    EXPECT_EQ(r.drops(server), (counts{{"tagged", 2}, {"double_tagged", 1}}));
}

// A driver that takes tags off by itself, although nobody asked it to.
TEST(vlan, a_tag_that_a_driver_took_off_counts) {
    rig r(plan_in_vlan());
    rte_mbuf *m = rte_pktmbuf_alloc(r.f.pools[server]);
    const byte_vector plain = r.request(0, 1);
    std::memcpy(rte_pktmbuf_append(m, static_cast<uint16_t>(plain.size())), plain.data(), plain.size());
    drop why = drop::count;
    const uint32_t tag = r.disp(server).nic.tag;
    EXPECT_FALSE(take_tag(m, tag, &why));
    EXPECT_EQ(why, drop::untagged);
    m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
    m->vlan_tci = 0xe000 | 100;
    EXPECT_TRUE(take_tag(m, tag, &why));
    EXPECT_EQ(m->pkt_len, plain.size());
    m->vlan_tci = 101;
    EXPECT_FALSE(take_tag(m, tag, &why));
    EXPECT_EQ(why, drop::other_vlan);
    rte_pktmbuf_free(m);
}

// What a packet handler sees of headroom leaves room for the tag.
TEST(vlan, a_packet_handler_sees_frames_without_a_tag) {
    json plan = plan_in_vlan();
    plan["workloads"][0]["handler"] = nullptr;
    plan["workloads"][0]["packet_handler"] = {{"name", "echo"}, {"options", json::object()}};
    rig r(plan);
    r.deliver(server, {with_tag(r.request(0, 1), type_8021q, 100)});
    r.run(server, nic_rx);
    r.run(server, disp_rx);
    EXPECT_EQ(r.disp(server).views[0].length, r.request(0, 1).size());
    EXPECT_EQ(r.disp(server).views[0].headroom, uint32_t{RTE_PKTMBUF_HEADROOM});
    r.run(server, nic_tx);
    const auto replies = r.taken_off(client);
    ASSERT_EQ(replies.size(), 1u);
    EXPECT_EQ(vlan_tags_in(replies[0].data(), static_cast<uint32_t>(replies[0].size())), 1u);
}

}  // namespace
}  // namespace wt::test::vlan_test
