// Both endpoints over IPv6, stage by stage. Starts EAL on ordinary memory.
#include "core/vlan.h"
#include "ipv6_tools.h"
#include "stages_rig.h"

namespace wt::test::ipv6_test {
namespace {

const needs_eal eal(64);

json plan_over_ipv6() {
    json plan = rig_plan();
    for (size_t e : {client, server}) {
        plan["endpoints"][e]["ip"] = e == client ? "fd00::1" : "fd00::2";
        plan["endpoints"][e]["peer_ip"] = e == client ? "fd00::2" : "fd00::1";
    }
    return plan;
}

TEST(over_ipv6, messages_go_there_and_back) {
    for (const std::vector<std::string> &apart : {std::vector<std::string>{}, {"disp_tx"}, {"app_rx"}}) {
        json plan = plan_over_ipv6();
        if (!apart.empty()) part(plan, apart);
        rig r(plan);
        r.loops(50);
        EXPECT_GT(r.stats(client, app_rx).responses, 100u);
        EXPECT_TRUE(r.drops(client).empty() && r.drops(server).empty());
    }
}

TEST(over_ipv6, messages_of_several_segments_go_there_and_back) {
    json plan = plan_over_ipv6();
    plan["workloads"][0]["request_bytes"] = 5000;
    plan["workloads"][0]["response_bytes"] = 3000;
    rig r(plan);
    r.loops(50);
    EXPECT_GT(r.stats(client, app_rx).responses, 20u);
    EXPECT_TRUE(r.drops(client).empty() && r.drops(server).empty());
}

TEST(over_ipv6, no_frame_is_longer_than_the_mtu) {
    json plan = plan_over_ipv6();
    plan["workloads"][0]["request_bytes"] = 5000;
    rig r(plan);
    uint32_t longest = 0;
    for (const byte_vector &frame : r.sent(client)) {
        EXPECT_EQ(big16(frame, 18) + 54, frame.size());
        EXPECT_EQ(slow_ipv6_sum(frame), 0xffffu);
        longest = std::max(longest, static_cast<uint32_t>(frame.size()));
    }
    EXPECT_EQ(longest, r.p.endpoints[client].mtu + 14u);
}

TEST(over_ipv6, in_a_vlan_the_tag_stands_before_ipv6) {
    json plan = plan_over_ipv6();
    for (json &e : plan["endpoints"]) e["vlan"] = {{"id", 7}, {"priority", 0}};
    rig r(plan);
    const auto frames = r.sent(client);
    ASSERT_FALSE(frames.empty());
    for (byte_vector frame : frames) {
        EXPECT_EQ(big16(frame, 12), 0x8100u);
        EXPECT_EQ(big16(frame, 14), 7u);
        frame.erase(frame.begin() + 12, frame.begin() + 16);
        EXPECT_EQ(slow_ipv6_sum(frame), 0xffffu);
    }
    r.loops(20);
    EXPECT_TRUE(r.drops(client).empty() && r.drops(server).empty());
}

TEST(over_ipv6, what_the_server_drops_and_counts) {
    rig r(plan_over_ipv6());
    const auto frames = r.sent(client);
    ASSERT_FALSE(frames.empty());
    const byte_vector &good = frames[0];
    r.deliver(server, {changed(good, next_header, 0), changed(good, next_header, 44), r.request(0, 1),
                       changed(good, frame_ipv6_header_bytes + 20, 0xee)});
    r.loop(server);
    EXPECT_EQ(r.drops(server),
              (counts{{"ip_extension", 1}, {"ip_fragment", 1}, {"not_ipv6", 1}, {"bad_udp_checksum", 1}}));
}

TEST(over_ipv6, the_server_tells_its_mac_and_the_client_learns_it) {
    rig r(plan_over_ipv6());
    r.f.endpoints[client].resolver.ask = true;
    r.f.endpoints[client].resolver.response = 0;
    for (int i = 0; i < 4; i++) r.loop(client), r.loop(server);
    const uint64_t known = r.f.endpoints[client].resolver.response;
    EXPECT_EQ(known >> 63, 1u);
    EXPECT_EQ(std::memcmp(&known, r.p.endpoints[server].mac->bytes, 6), 0);
    EXPECT_TRUE(r.drops(client).empty() && r.drops(server).empty());
}

TEST(over_ipv6, a_packet_handler_sends_datagrams_back) {
    json plan = plan_over_ipv6();
    plan["workloads"][0]["handler"] = nullptr;
    plan["workloads"][0]["packet_handler"] = {{"name", "echo"}, {"options", json::object()}};
    rig r(plan);
    r.loops(20);
    EXPECT_GT(r.stats(client, app_rx).responses, 50u);
    EXPECT_TRUE(r.drops(client).empty() && r.drops(server).empty());
}

}  // namespace
}  // namespace wt::test::ipv6_test
