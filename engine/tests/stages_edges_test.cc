// The stages at the edges of what a plan may say: several applications, responses longer than a burst,
// handlers that overstep, faults and recordings on a port that takes little at a time. Starts EAL on ordinary
// memory.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "core/refusal.h"
#include "stages_rig.h"
#include "wires/recorder.h"

namespace wt::test::stages_edges_test {
namespace {

const needs_eal eal(64);

// Two applications a side share the dispatcher.
json two_applications(json plan = rig_plan()) {
    for (int e : {0, 1}) {
        plan["endpoints"][e]["applications"].push_back(plan["endpoints"][e]["applications"][0]);
        for (const char *stage : {"app_rx", "app_tx"})
            if (e == 0 || std::string(stage) == "app_rx")
                plan["workers"][0]["stages"].push_back({{"endpoint", e}, {"stage", stage}, {"index", 1}});
    }
    plan["workloads"][0]["client_applications"] = 2;
    return plan;
}

void response_of(void *state, wt_exchange *burst, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) burst[i].response.length = *static_cast<uint32_t *>(state);
}

TEST(edges, a_dispatcher_serves_all_its_applications) {
    rig r(two_applications());
    r.loops(50);
    r.f.signals.sending = false;
    r.loops(10);
    for (auto &a : r.f.endpoints[client].applications) EXPECT_GT(a->receiving->responses, 100u);
    EXPECT_TRUE(r.drops(client).empty() && r.drops(server).empty());
}

TEST(edges, requests_spread_over_the_applications_by_their_slot) {
    rig r(two_applications());
    for (uint32_t slot = 0; slot < 16; slot++) r.deliver(server, {r.request(slot, 1)});
    r.run(server, nic_rx);
    r.run(server, disp_rx);
    for (link *l : r.disp(server).links) EXPECT_EQ(l->to_application->used(), 8u);
}

// A ring of three entries: the fourth request for the first application waits, and those for the second one
// pass it.
TEST(edges, an_application_without_room_does_not_stall_the_others) {
    for (const bool handled : {false, true}) {
        json plan = two_applications();
        plan["endpoints"][server]["ring_size"] = 4;
        if (handled)
            plan["workloads"][0]["packet_handler"] = {{"name", "empty"}, {"options", json::object()}};
        rig r(plan);
        for (const uint32_t slot : {0, 2, 4, 1, 3, 6, 5, 8, 7}) r.deliver(server, {r.request(slot, 1)});
        const auto used = [&](size_t link) { return r.disp(server).links[link]->to_application->used(); };
        r.run(server, nic_rx);
        EXPECT_EQ(r.run(server, disp_rx).objects, 6u);
        EXPECT_EQ(used(0), 3u);
        EXPECT_EQ(used(1), 2u);
        const call_result held = r.run(server, disp_rx);
        EXPECT_TRUE(held.stalled == for_ring && held.objects == 0);
        r.run(server, app_rx);  // of the first application
        EXPECT_EQ(r.run(server, disp_rx).objects, 3u);
        EXPECT_EQ(used(0), 2u);
        EXPECT_EQ(used(1), 3u);
        ASSERT_NE(r.disp(server).waiting, nullptr) << "the fourth of the second application";
        EXPECT_EQ(r.stats(server, disp_rx).rx_bytes, 9 * 128u);
        for (worker &w : r.f.workers)
            for (stage &s : w.stages)
                if (s.place.endpoint == server && s.place.stage == app_rx) s.run(s.role, {s.current, 0});
        const call_result went_on = r.run(server, disp_rx);
        EXPECT_TRUE(went_on.worked && went_on.objects == 0);
        EXPECT_TRUE(r.drops(server).empty());
        r.deliver(server, {r.request(9, 1), r.request(11, 1), r.request(13, 1), r.request(15, 1)});
        r.run(server, nic_rx);
        r.run(server, disp_rx);  // one waits at the end, for the ledger
        EXPECT_NE(r.disp(server).waiting, nullptr);
    }
}

TEST(edges, responses_of_more_segments_than_a_burst) {
    for (const char *response_mbuf : {"request", "new"}) {
        json plan = rig_plan();
        plan["endpoints"][server]["response_mbuf"] = response_mbuf;
        // of 40 segments, at a burst of 32
        plan["workloads"][0]["response_bytes"] = 40 * 1456 + message_header_bytes;
        rig r(plan);
        uint32_t whole = 40 * 1456;
        wt_handler mine{};
        mine.message = response_of;
        r.app(server).handler = &mine;
        r.app(server).handler_state = &whole;
        r.loops(200);
        r.f.signals.sending = false;
        r.loops(400);
        EXPECT_GT(r.stats(client, app_tx).sent, 4u);
        EXPECT_EQ(r.stats(client, app_rx).responses, r.stats(client, app_tx).sent);
    }
}

TEST(edges, a_response_is_cut_to_its_room) {
    for (const uint32_t request : {86u, 4000u}) {
        rig r(with("/workloads/0/request_bytes", request));
        uint32_t claimed = 1 << 20;
        wt_handler mine{};
        mine.message = response_of;
        r.app(server).handler = &mine;
        r.app(server).handler_state = &claimed;
        r.run(client, app_tx);
        r.f.signals.sending = false;
        for (int i = 0; i < 5; i++) r.loop(server), r.run(client, disp_tx), r.run(client, nic_tx);
        const auto responses = r.taken_off(client);
        EXPECT_EQ(responses.size(), r.stats(client, app_tx).sent);
        for (const byte_vector &frame : responses) EXPECT_EQ(frame.size(), frame_header_bytes + 86u);
    }
}

TEST(edges, a_frame_moved_by_its_handler_leaves_room_for_the_longest_response) {
    json plan = rig_plan();
    for (auto &e : plan["endpoints"]) {
        e["mtu"] = 9000;
        e["pool"].update({{"data_room_bytes", 128 + 9024}, {"size", 127}});
    }
    plan["workloads"][0]["response_bytes"] = 9000 - 28;
    plan["workloads"][0]["packet_handler"] = {{"name", "empty"}, {"options", json::object()}};
    rig r(plan);
    wt_handler strip{}, mine{};
    strip.flags = WT_MOVES_DATA;
    strip.packet = [](void *, wt_packet *burst, uint32_t count) {
        for (uint32_t i = 0; i < count; i++) burst[i].data += 50, burst[i].length -= 50;
    };
    uint32_t whole = 9000 - 28 - message_header_bytes;
    mine.message = response_of;
    r.disp(server).packet_handler = &strip;
    r.app(server).handler = &mine;
    r.app(server).handler_state = &whole;
    byte_vector wrapped(50, 0xee);
    const byte_vector inner = r.request(0, 1);
    wrapped.insert(wrapped.end(), inner.begin(), inner.end());
    r.deliver(server, {wrapped});
    r.run(server, nic_rx);
    r.run(server, disp_rx);
    r.run(server, app_rx);
    r.run(server, disp_tx);
    const rte_mbuf *m = r.disp(server).nic.sending->packets[r.disp(server).nic.sending->head];
    EXPECT_LE(uint32_t{m->data_off} + m->data_len, m->buf_len);
    EXPECT_EQ(m->data_len, 9014u);
}

TEST(edges, a_chained_mbuf_is_dropped_with_a_reason) {
    rig r(rig_plan());
    rte_mbuf *head = rte_pktmbuf_alloc(r.f.pools[client]), *tail = rte_pktmbuf_alloc(r.f.pools[client]);
    rte_pktmbuf_append(head, 100);
    rte_pktmbuf_append(tail, 100);
    ASSERT_EQ(rte_pktmbuf_chain(head, tail), 0);
    ASSERT_EQ(rte_eth_tx_burst(r.f.endpoints[client].port->id, 0, &head, 1), 1);
    r.loop(server);
    EXPECT_EQ(r.drops(server), (counts{{"chained", 1}}));
}

// A view shows one mbuf: a handler would forward a part of the frame, and move a part of it.
TEST(edges, a_chained_mbuf_reaches_no_packet_handler) {
    rig r(with("/workloads/0/packet_handler", {{"name", "empty"}, {"options", json::object()}}));
    wt_handler forward{};
    forward.flags = WT_MOVES_DATA;
    forward.packet = [](void *, wt_packet *burst, uint32_t count) {
        for (uint32_t i = 0; i < count; i++) burst[i].verdict = WT_FORWARD;
    };
    r.disp(server).packet_handler = &forward;
    r.deliver(server, {r.request(0, 1)});
    rte_mbuf *head = rte_pktmbuf_alloc(r.f.pools[client]), *tail = rte_pktmbuf_alloc(r.f.pools[client]);
    rte_pktmbuf_append(head, 100);
    rte_pktmbuf_append(tail, 50);
    ASSERT_EQ(rte_pktmbuf_chain(head, tail), 0);
    ASSERT_EQ(rte_eth_tx_burst(r.f.endpoints[client].port->id, 0, &head, 1), 1);
    r.deliver(server, {r.request(1, 1)});
    r.run(server, nic_rx);
    EXPECT_EQ(r.run(server, disp_rx).objects, 3u);
    EXPECT_EQ(r.drops(server), (counts{{"chained", 1}}));
    EXPECT_EQ(r.stats(server, disp_rx).rx_bytes, 2 * 128u + 150u);
    EXPECT_EQ(r.stats(server, disp_rx).tx_bytes, 2 * 128u);
    r.run(server, nic_tx);
    EXPECT_EQ(r.taken_off(client), (std::vector<byte_vector>{r.request(0, 1), r.request(1, 1)}));
}

// A transport that is no ethdev: it keeps what is sent until somebody receives it, `room` packets at the
// most.
struct stand_in_channel {
    std::vector<rte_mbuf *> packets;
    size_t room;
};
constexpr queue_ops stand_in = {
    .rx = [](void *at, rte_mbuf **to, uint16_t most) -> uint16_t {
        auto &packets = static_cast<stand_in_channel *>(at)->packets;
        const auto count = static_cast<uint16_t>(std::min<size_t>(most, packets.size()));
        std::copy_n(packets.begin(), count, to);
        packets.erase(packets.begin(), packets.begin() + count);
        return count;
    },
    .tx = [](void *at, rte_mbuf **from, uint16_t most) -> uint16_t {
        auto &c = *static_cast<stand_in_channel *>(at);
        const auto count = static_cast<uint16_t>(std::min<size_t>(most, c.room - c.packets.size()));
        c.packets.insert(c.packets.end(), from, from + count);
        return count;
    },
};

TEST(edges, another_transport_receives_and_sends_in_place_of_the_ethdev) {
    rig r(rig_plan());
    stand_in_channel channel{{}, 20};
    r.disp(client).nic.transport = &stand_in;
    r.disp(client).nic.channel = &channel;
    r.run(client, app_tx);
    r.run(client, disp_tx);
    EXPECT_EQ(r.run(client, nic_tx).objects, 20u);
    EXPECT_EQ(r.run(client, nic_tx).stalled, for_port);
    EXPECT_EQ(r.stats(client, nic_tx).packets, 20u);
    EXPECT_EQ(r.stats(client, nic_tx).bursts, 1u);
    EXPECT_TRUE(r.taken_off(server).empty());
    EXPECT_EQ(r.run(client, nic_rx).objects, 20u);
    EXPECT_EQ(r.stats(client, nic_rx).packets, 20u);
    EXPECT_EQ(r.run(client, nic_tx).objects, 12u);
    rte_pktmbuf_free_bulk(channel.packets.data(), static_cast<unsigned>(channel.packets.size()));
}

TEST(edges, arp_requests_count_toward_the_burst) {
    rig r(with("/endpoints/0/batch/nic_tx", 64));  // room for more than disp_tx may take
    r.run(client, app_tx);
    r.f.endpoints[client].resolver.ask = true;
    EXPECT_EQ(r.run(client, disp_tx).objects, 32u);
    EXPECT_EQ(r.run(client, disp_tx).objects, 1u);
}

TEST(edges, every_stage_stalls_without_room) {
    rig r(with("/endpoints/1/ring_size", 2));
    for (uint32_t slot = 0; slot < 64; slot++) r.deliver(server, {r.request(slot % 32, 1)});
    r.run(server, nic_rx);
    EXPECT_EQ(r.run(server, nic_rx).stalled, for_ring);  // its hand-over is full
    for (int i = 0; i < 2; i++) r.run(server, disp_rx), r.run(server, app_rx);
    EXPECT_EQ(r.run(server, app_rx).stalled, for_ring);  // the ring towards the dispatcher is
    r.run(server, disp_rx);
    EXPECT_EQ(r.run(server, disp_rx).stalled, for_ring);  // the ring towards the application is
}

// Without room a call of nic_rx is stall only where a packet waits at the port.
TEST(edges, nic_rx_stalls_only_where_a_packet_waits) {
    rig r(rig_plan());
    const auto deliver = [&](uint32_t count) {
        for (uint32_t slot = 0; slot < count; slot++) r.deliver(server, {r.request(slot, 1)});
    };
    deliver(32);
    EXPECT_EQ(r.run(server, nic_rx).objects, 32u);
    EXPECT_EQ(r.run(server, nic_rx).stalled, not_stalled);
    deliver(10);
    for (int i = 0; i < 2; i++) {
        const call_result held = r.run(server, nic_rx);
        EXPECT_TRUE(held.stalled == for_ring && held.objects == 0);
        EXPECT_EQ(r.stats(server, nic_rx).packets, 32 + most_early);
    }
    r.run(server, disp_rx);
    EXPECT_EQ(r.run(server, nic_rx).objects, most_early);
    EXPECT_EQ(r.run(server, nic_rx).objects, 2u);
    EXPECT_EQ(r.stats(server, nic_rx).packets, 42u);
    deliver(32);
    for (int i = 0; i < 3; i++) r.run(server, nic_rx);  // and keeps some at the end, for the ledger
    EXPECT_EQ(r.disp(server).nic.early.count, most_early);
}

TEST(edges, a_dispatcher_stalls_for_the_port_behind_it) {
    json plan = rig_plan();
    plan["endpoints"][client]["applications"][0]["inflight"] = 64;
    plan["endpoints"][client]["ring_size"] = 128;
    plan["workloads"][0]["packet_handler"] = {{"name", "echo"}, {"options", json::object()}};
    rig r(plan);
    for (int i = 0; i < 2; i++) EXPECT_EQ(r.run(client, app_tx).objects, 32u);
    EXPECT_EQ(r.run(client, disp_tx).objects, 32u);
    EXPECT_EQ(r.run(client, disp_tx).stalled, for_port);
    for (uint32_t slot = 0; slot < 64; slot++) r.deliver(server, {r.request(slot % 32, 1)});
    EXPECT_EQ(r.run(server, nic_rx).objects, 32u);
    EXPECT_EQ(r.run(server, disp_rx).objects, 32u);
    EXPECT_EQ(r.run(server, nic_rx).objects, 32u);
    EXPECT_EQ(r.run(server, disp_rx).stalled, for_port);
}

TEST(edges, reordered_packets_are_released_when_the_wire_is_idle) {
    json plan = rig_plan();
    plan["endpoints"][client]["port"]["faults"] = {
        {"loss", 0}, {"duplicate", 0}, {"reorder", 1}, {"reorder_depth", 64}};
    plan["endpoints"][server]["port"]["rx_descriptors"] = 16;
    rig r(plan);
    r.run(client, app_tx);
    r.f.signals.sending = false;
    r.run(client, disp_tx);
    EXPECT_EQ(r.run(client, nic_tx).objects, 32u);
    EXPECT_EQ(r.disp(client).nic.emulated_faults->held_count, 32u);
    EXPECT_EQ(r.run(client, nic_tx).objects, 16u);
    const call_result held = r.run(client, nic_tx);
    EXPECT_TRUE(held.stalled == for_port && held.objects == 0);
    EXPECT_EQ(r.taken_off(server).size(), 16u);
    r.run(client, nic_tx);
    EXPECT_EQ(r.taken_off(server).size(), 16u);
}

TEST(edges, emulated_duplicates_are_counted) {
    rig r(with("/endpoints/0/port/faults",
               {{"loss", 0}, {"duplicate", 1}, {"reorder", 0}, {"reorder_depth", 1}}));
    r.run(client, app_tx);
    r.f.signals.sending = false;
    r.loops(5);
    EXPECT_EQ(r.stats(client, nic_tx).wire_duplicated, 32u);
    EXPECT_EQ(r.stats(client, nic_tx).packets, 64u);
    EXPECT_EQ(r.stats(client, app_rx).duplicates, 32u);
}

TEST(edges, a_port_that_takes_part_of_a_burst_has_each_frame_recorded_once) {
    const temporary_directory directory;
    rig r(with("/endpoints/1/port/rx_descriptors", 2));
    r.disp(client).nic.record_tx = recorder_open(directory / "r.pcap", false, 1, SOCKET_ID_ANY);
    r.run(client, app_tx);
    r.run(client, disp_tx);
    for (int i = 0; i < 16; i++) r.run(client, nic_tx), r.run(client, nic_tx), r.taken_off(server);
    const recorded result = recorder_close(r.disp(client).nic.record_tx);
    EXPECT_EQ(result.sent, 32u);
    EXPECT_EQ(result.missed, 0u);
}

TEST(edges, open_loop_with_mbufs_for_one_keeps_the_next_arrival) {
    rig r(with("/workloads/0/load", open_load(1e6, "constant")));
    r.hoard(client, 1);
    while (r.stats(client, app_tx).offered < 10) r.run(client, app_tx);
    EXPECT_EQ(r.stats(client, app_tx).sent, 1u);
    r.give_back();
    r.run(client, app_tx);
    const auto &slots = r.app(client).inflight->slots;
    EXPECT_EQ(slots[1].intended - slots[0].intended, 1000u);  // ticks of the rig's clock
}

TEST(edges, arrivals_differ_by_seed) {
    const auto intervals = [](uint64_t seed) {
        json plan = rig_plan();
        plan["seed"] = seed;
        plan["workloads"][0]["load"] = open_load(1e6, "poisson");
        rig r(plan);
        arrival_cursor c = r.app(client).sending->next;
        std::set<int64_t> all;
        for (int i = 0; i < 100; i++) {
            const double before = c.next;
            arrival_advance(c);
            all.insert(std::llround(c.next - before));
        }
        return all;
    };
    const std::set<int64_t> one = intervals(1), two = intervals(2);
    std::vector<int64_t> both;
    std::ranges::set_intersection(one, two, std::back_inserter(both));
    EXPECT_EQ(one, intervals(1));
    EXPECT_LT(both.size(), 20u);  // some fall on the same nanosecond by chance
}

// The rig's clock has 1e9 ticks a second. A time of arrival beyond 63 bits would count as due at once, and
// for ever.
TEST(edges, a_rate_that_the_clock_cannot_pace_is_refused) {
    json plan = rig_plan();
    for (const double rate : {1e10, 1e-12, 1e-320}) {
        plan["workloads"][0]["load"] = open_load(rate, "constant");
        ASSERT_THROW(rig{plan}, refusal) << rate;
    }
    plan["workloads"][0]["load"] = open_load(1e-5, "constant");
    rig r(plan);
    EXPECT_EQ(r.run(client, app_tx).objects, 0u);
}

TEST(edges, a_message_of_several_segments_is_late_and_duplicate_once) {
    rig r(with("/workloads/0/response_bytes", 4000));
    r.run(client, app_tx);
    r.f.signals.sending = false;
    inflight_table &table = *r.app(client).inflight;
    const auto part = [&](uint32_t slot, uint32_t generation, uint16_t segment) {
        const uint32_t its = table.first_generation + generation;
        return r.frame(client, {message_kind::response, 0, 0, slot, its, segment, 3}, 70);
    };
    const auto arrive = [&](uint32_t slot, uint32_t generation) {
        for (uint16_t s = 0; s < 3; s++) r.deliver(client, {part(slot, generation, s)});
        r.run(client, nic_rx);
        r.run(client, disp_rx);
        r.run(client, app_rx);
    };
    arrive(0, 1);
    arrive(0, 1);
    EXPECT_EQ(r.stats(client, app_rx).responses, 1u);
    EXPECT_EQ(r.stats(client, app_rx).duplicates, 1u);
    r.app(client).receiving->timeout = 1;
    for (int i = 0; i < 600; i++) r.run(client, app_rx);
    EXPECT_EQ(r.stats(client, app_rx).lost, 31u);
    arrive(1, 1);
    EXPECT_EQ(r.stats(client, app_rx).late, 1u);
    EXPECT_EQ(r.drops(client), (counts{{"duplicate_response", 3}, {"late_response", 3}}));
    // a hundred messages later: long out of the history
    table.slots[0].generation = table.first_generation + 202;
    arrive(0, 1);
    EXPECT_EQ(r.stats(client, app_rx).late, 2u);
    table.slots[0].generation = table.first_generation + 2;
}

}  // namespace
}  // namespace wt::test::stages_edges_test
