// disp_rx and nic_tx on what goes back the way it came: ARP, ICMP, packet handlers, IP options. Starts EAL on
// ordinary memory.
#include "stages_rig.h"
#include "wires/recorder.h"

namespace wt::test::stages_control_test {
namespace {

const needs_eal eal(64);

byte_vector arp_request(const rig &r) {
    byte_vector frame(frame_min_bytes);
    arp_request_write(frame.data(), *r.p.endpoints[client].mac, r.p.endpoints[client].ip.v4,
                      r.p.endpoints[server].ip.v4);
    return frame;
}

byte_vector echo_request(const rig &r) {
    byte_vector frame = r.request(0, 1);
    frame[23] = 1;
    mend_ip_checksum(frame);
    const uint8_t icmp[] = {8, 0, 0, 0, 0x12, 0x34, 0, 7};
    std::copy(std::begin(icmp), std::end(icmp), frame.begin() + 34);
    mend_icmp_checksum(frame);
    return frame;
}

std::vector<byte_vector> times(uint32_t count, const byte_vector &frame) {
    return std::vector<byte_vector>(count, frame);
}

TEST(control, a_flood_without_room_for_replies_is_dropped_with_a_reason) {
    for (const bool split : {false, true}) {
        json plan = rig_plan();
        if (split) part(plan, {"nic_tx"});
        plan["endpoints"][server]["ring_size"] = 64;
        plan["endpoints"][client]["port"]["rx_descriptors"] = 2;  // towards the client: room for two
        rig r(plan);
        uint64_t sent = 0;
        for (int i = 0; i < 12; i++) {
            r.deliver(server, times(8, arp_request(r)));
            r.deliver(server, times(8, echo_request(r)));
            sent += 16;
            r.run(server, nic_rx);
            r.run(server, disp_rx);
            r.run(server, nic_tx);
        }
        const counts dropped = r.drops(server);
        ASSERT_EQ(dropped.size(), 1u);
        const uint64_t no_room = dropped.at("reply_no_room");
        // what was not dropped is on the wire or waits for it
        dispatcher &d = r.disp(server);
        const uint64_t waiting =
            d.nic.replies ? d.nic.replies->ring->used() + (d.nic.replies->tail - d.nic.replies->head)
                          : d.nic.sending->tail - d.nic.sending->head;
        EXPECT_EQ(no_room + waiting + r.stats(server, nic_tx).packets, sent);
        EXPECT_EQ(r.stats(server, nic_tx).packets, 2u);
    }
}

TEST(control, what_a_full_port_refuses_is_recorded_once) {
    const temporary_directory directory;
    json plan = rig_plan();
    part(plan, {"nic_tx"});
    plan["endpoints"][client]["port"]["rx_descriptors"] = 2;
    rig r(plan);
    port_queue &nic = r.disp(server).nic;
    nic.record_tx = recorder_open(directory / "r.pcap", false, 1, SOCKET_ID_ANY);
    r.deliver(server, times(8, arp_request(r)));
    for (uint32_t i = 0; i < 8; i++) r.deliver(server, {r.request(i, 2 * i + 1)});
    uint64_t sent = 0;
    for (const stage_kind stage : {nic_rx, disp_rx, app_rx, disp_tx}) r.run(server, stage);
    for (int i = 0; i < 40; i++) {
        r.run(server, nic_tx);
        r.run(server, nic_tx);
        sent += r.taken_off(client).size();
    }
    const recorded result = recorder_close(nic.record_tx);
    nic.record_tx = nullptr;
    EXPECT_EQ(sent, 16u);
    EXPECT_EQ(result.sent, sent);
}

TEST(control, responses_are_sent_during_a_flood_of_echo_requests) {
    json plan = rig_plan();
    part(plan, {"nic_tx"});
    rig r(plan);
    uint64_t responses = 0, replies = 0;
    for (uint32_t i = 0; i < 20; i++) {
        r.deliver(server, times(31, echo_request(r)));
        r.deliver(server, {r.request(i % 32, 2 * i + 1)});
        r.loop(server);
        for (const byte_vector &frame : r.taken_off(client)) (frame[23] == 1 ? replies : responses)++;
    }
    EXPECT_EQ(responses + replies, 20u * 32);
    EXPECT_EQ(responses, 20u);
}

TEST(control, replies_have_our_address_and_valid_checksums) {
    rig r(rig_plan());
    r.deliver(server, {echo_request(r)});
    r.loop(server);
    const std::vector<byte_vector> replies = r.taken_off(client);
    ASSERT_EQ(replies.size(), 1u);
    EXPECT_EQ(replies[0][34], 0);
    EXPECT_EQ(slow_ip_sum(replies[0]), 0xffffu);
    EXPECT_TRUE(std::equal(replies[0].begin(), replies[0].begin() + 6, r.p.endpoints[client].mac->bytes));
}

TEST(control, a_short_reply_is_padded_to_the_ethernet_minimum) {
    rig r(rig_plan());
    byte_vector frame = arp_request(r);
    frame.resize(42);  // as a driver gives it that strips padding
    r.deliver(server, {frame});
    r.loop(server);
    const std::vector<byte_vector> replies = r.taken_off(client);
    ASSERT_EQ(replies.size(), 1u);
    EXPECT_EQ(replies[0].size(), frame_min_bytes);
}

// A response in the request's mbuf is as long as the MTU allows; IP options in the request must not push it
// over the edge.
TEST(control, ip_options_leave_room_for_the_longest_response) {
    for (const uint32_t mtu : {1500u, 9000u}) {
        json plan = rig_plan();
        for (auto &e : plan["endpoints"]) {
            e["mtu"] = mtu;
            e["pool"]["data_room_bytes"] = mtu == 9000 ? 128 + 9024 : 128 + 2048;
            e["pool"]["size"] = 127;
        }
        plan["workloads"][0]["response_bytes"] = mtu - 28;
        rig r(plan);
        static uint32_t whole;
        whole = mtu - 28 - message_header_bytes;
        wt_handler mine{};
        mine.message = [](void *, wt_exchange *burst, uint32_t count) {
            for (uint32_t i = 0; i < count; i++) {
                ASSERT_EQ(burst[i].request.segments[0].data[0], 0x5a);
                ASSERT_EQ(burst[i].response.segments[0].length, whole);
                std::memset(burst[i].response.segments[0].data, 0xa5, whole);
            }
        };
        r.app(server).handler = &mine;
        for (uint32_t words = 0; words <= 10; words++)
            r.deliver(server, {with_options(r.request(words, 1), words)});
        r.run(server, nic_rx);
        r.run(server, disp_rx);
        r.run(server, app_rx);
        r.run(server, disp_tx);
        dispatcher &d = r.disp(server);
        ASSERT_EQ(d.nic.sending->tail - d.nic.sending->head, 11u);
        for (uint32_t i = d.nic.sending->head; i < d.nic.sending->tail; i++) {
            const rte_mbuf *m = d.nic.sending->packets[i];
            EXPECT_LE(uint32_t{m->data_off} + m->data_len, m->buf_len)
                << "options of " << i << " words at an MTU of " << mtu;
        }
        r.run(server, nic_tx);
        for (const byte_vector &frame : r.taken_off(client)) {
            EXPECT_EQ(frame.size(), mtu + 14);
            EXPECT_EQ(slow_ip_sum(frame), 0xffffu);
            EXPECT_EQ(slow_udp_sum(frame), 0xffffu);
        }
        EXPECT_TRUE(r.drops(server).empty());
    }
}

// A packet handler that passes, sends back, drops, and moves data: by the frame's last byte.
void mixed(void *, wt_packet *burst, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        wt_packet &p = burst[i];
        switch (p.data[p.length - 1]) {
            case 'f': p.verdict = WT_FORWARD; break;
            case 'd': p.verdict = WT_DROP; break;
            case 'n': p.verdict = 77; break;  // no verdict that there is
            case 'c':                         // takes an outer header of 14 bytes off
                p.data += 14, p.length -= 15;
                break;
            case 'g':  // puts 4 bytes in front and sends it back
                p.data -= 4, p.length += 4;
                p.verdict = WT_FORWARD;
                break;
            default: break;
        }
    }
}

TEST(control, a_packet_handler_of_every_verdict_loses_nothing) {
    rig r(with("/workloads/0/packet_handler", {{"name", "empty"}, {"options", json::object()}}));
    wt_handler mine{};
    mine.packet = mixed;
    mine.flags = WT_MOVES_DATA;
    r.disp(server).packet_handler = &mine;
    byte_vector wrapped(14, 0xee);
    const byte_vector inner = r.request(5, 1);
    wrapped.insert(wrapped.end(), inner.begin(), inner.end());
    wrapped.push_back('c');
    r.deliver(server, {r.request(1, 1), byte_vector(60, 'f'), byte_vector(60, 'd'), byte_vector(60, 'n'),
                       byte_vector(60, 'g'), wrapped, byte_vector(1, 'f'), byte_vector(1, 'p'),
                       byte_vector(60, 'p')});
    r.loop(server);
    r.loop(server);
    const counts expected = {{"by_handler", 2}, {"runt", 1}, {"not_ipv4", 1}};
    EXPECT_EQ(r.drops(server), expected);
    std::multiset<size_t> sizes;
    uint32_t responses = 0;
    for (const byte_vector &frame : r.taken_off(client)) {
        sizes.insert(frame.size());
        responses += frame.size() == 128;
    }
    EXPECT_EQ(responses, 2u);
    EXPECT_EQ(sizes, (std::multiset<size_t>{1, 60, 64, 128, 128}));
}

TEST(control, verdicts_wait_for_room_in_the_port) {
    json plan = rig_plan();
    plan["workloads"][0]["packet_handler"] = {{"name", "echo"}, {"options", json::object()}};
    plan["endpoints"][client]["port"]["rx_descriptors"] = 2;
    rig r(plan);
    uint64_t delivered = 0, back = 0;
    for (int i = 0; i < 10; i++, delivered += 10) {
        r.deliver(server, times(10, r.request(0, 1)));
        r.loop(server);
    }
    EXPECT_GT(r.run(server, disp_rx).stalled || r.run(server, nic_tx).stalled, false);
    for (int i = 0; i < 100; i++) {
        back += r.taken_off(client).size();
        r.loop(server);
    }
    EXPECT_EQ(back + r.taken_off(client).size(), delivered);
    EXPECT_TRUE(r.drops(server).empty());
}

TEST(control, only_an_arp_reply_sets_the_clients_peer) {
    rig r(with("/endpoints/0/peer_mac", nullptr));
    r.f.signals.sending = false;
    peer_resolver &resolver = r.f.endpoints[client].resolver;
    resolver.ask = true;
    r.loops(2);
    const uint64_t known = resolver.response;
    EXPECT_EQ(known >> 63, 1u);
    EXPECT_EQ(std::memcmp(&known, r.p.endpoints[server].mac->bytes, 6), 0);
    EXPECT_TRUE(r.drops(client).empty() && r.drops(server).empty());
}

}  // namespace
}  // namespace wt::test::stages_control_test
