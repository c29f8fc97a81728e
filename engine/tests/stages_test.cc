// The stages on real mbufs when something is short, full, cut or hostile. Starts EAL on ordinary memory: no
// root, no hugepages.
#include "stages_rig.h"

namespace wt::test::stages_test {
namespace {

const needs_eal eal(64);

uint64_t named(const counts &drops, const char *reason) {
    const auto found = drops.find(reason);
    return found == drops.end() ? 0 : found->second;
}

TEST(stages, hand_driven_loops_respond_to_every_request) {
    rig r(rig_plan());
    r.loops(100);
    r.f.signals.sending = false;
    r.loops(10);
    EXPECT_GT(r.stats(client, app_tx).sent, 500u);
    EXPECT_EQ(r.stats(client, app_rx).responses, r.stats(client, app_tx).sent);
    EXPECT_TRUE(r.drops(client).empty() && r.drops(server).empty());
}

TEST(stages, the_steps_of_a_message_handler_are_those_of_app_rx) {
    const std::string handler = std::string(std::getenv("WT_TEST_PLUGINS")) + "/message_steps.so";
    rig r(with("/workloads/0/handler/name", handler, with("/accounting/level", "sampled")));
    ASSERT_NE(r.at(server, app_rx).steps, nullptr);
    EXPECT_EQ(r.at(server, app_rx).steps->names[0].name, "look");
    for (const stage_kind other : {nic_rx, disp_rx, disp_tx, nic_tx})
        EXPECT_EQ(r.at(server, other).steps, nullptr) << stage_names[static_cast<int>(other)];
}

TEST(stages, app_tx_without_mbufs_stalls_and_sends_nothing) {
    rig r(rig_plan());
    r.hoard(client, 0);
    const call_result held = r.run(client, app_tx);
    EXPECT_EQ(held.stalled, for_mbufs);
    EXPECT_EQ(r.stats(client, app_tx).sent + r.stats(client, app_tx).offered +
                  inflight_count(*r.app(client).inflight),
              0u);
    r.give_back();
    EXPECT_EQ(r.run(client, app_tx).objects, 32u);
}

TEST(stages, app_tx_makes_one_message_of_the_remaining_mbufs) {
    rig r(with("/workloads/0/request_bytes", 4000));  // 3 segments
    r.hoard(client, 5);
    EXPECT_EQ(r.run(client, app_tx).objects, 3u);
    EXPECT_EQ(r.stats(client, app_tx).sent, 1u);
    EXPECT_EQ(r.run(client, app_tx).stalled, for_mbufs);
    EXPECT_EQ(rte_mempool_avail_count(r.f.pools[client]), 2u);
}

// Whatever their last owner has left in them.
TEST(stages, taken_mbufs_have_the_fields_that_a_sender_reads) {
    rig r(rig_plan());
    rte_mempool *const pool = r.f.pools[client];
    std::vector<rte_mbuf *> all(rte_mempool_avail_count(pool));
    for (int round = 0; round < 2; round++) {
        ASSERT_TRUE(mbufs_take(pool, all.data(), static_cast<uint32_t>(all.size())));
        rte_mbuf *none = nullptr;
        EXPECT_FALSE(mbufs_take(pool, &none, 1));
        for (rte_mbuf *m : all) {
            EXPECT_EQ(m->data_off, RTE_PKTMBUF_HEADROOM);
            EXPECT_EQ(m->ol_flags, 0u);
            EXPECT_EQ(m->port, RTE_MBUF_PORT_INVALID);
            EXPECT_EQ(rte_mbuf_refcnt_read(m), 1);
            EXPECT_EQ(m->nb_segs, 1);
            EXPECT_EQ(m->next, nullptr);
            m->data_off = 14;
            m->ol_flags = RTE_MBUF_F_RX_VLAN;
            m->port = 3;
        }
        rte_pktmbuf_free_bulk(all.data(), static_cast<unsigned>(all.size()));
    }
}

// Alone, and beside one that rte_pktmbuf_free_bulk() must look at: a chain, one that is held twice, one of
// another pool, one whose data is elsewhere.
TEST(stages, mbufs_of_all_kinds_are_given_back) {
    rig r(rig_plan());
    rte_mempool *const pool = r.f.pools[client], *const other = r.f.pools[server];
    const uint32_t whole = rte_mempool_avail_count(pool), whole_other = rte_mempool_avail_count(other);
    const auto give_back = [&](rte_mbuf *fourth) {
        std::array<rte_mbuf *, 4> packets;
        for (uint32_t i = 0; i < 3; i++) packets[i] = rte_pktmbuf_alloc(pool);
        packets[3] = fourth;
        mbufs_give_back(packets.data(), 4);
    };
    give_back(rte_pktmbuf_alloc(pool));
    EXPECT_EQ(rte_mempool_avail_count(pool), whole);

    rte_mbuf *const chain = rte_pktmbuf_alloc(pool);
    ASSERT_EQ(rte_pktmbuf_chain(chain, rte_pktmbuf_alloc(pool)), 0);
    give_back(chain);
    EXPECT_EQ(rte_mempool_avail_count(pool), whole) << "both segments";

    rte_mbuf *const held_twice = rte_pktmbuf_alloc(pool);
    rte_mbuf_refcnt_update(held_twice, 1);
    give_back(held_twice);
    EXPECT_EQ(rte_mempool_avail_count(pool), whole - 1);
    EXPECT_EQ(rte_mbuf_refcnt_read(held_twice), 1);
    rte_pktmbuf_free(held_twice);

    give_back(rte_pktmbuf_alloc(other));
    EXPECT_EQ(rte_mempool_avail_count(other), whole_other) << "to its own pool";

    rte_mbuf *const original = rte_pktmbuf_alloc(pool);
    give_back(rte_pktmbuf_clone(original, pool));
    EXPECT_EQ(rte_mbuf_refcnt_read(original), 1) << "the clone lets it go";
    rte_pktmbuf_free(original);
    EXPECT_EQ(rte_mempool_avail_count(pool), whole);
}

// Near its intended times and far behind them: each message is in its own bucket of the pacing error.
TEST(stages, open_loop_records_the_pacing_of_each_message) {
    rig r(with("/workloads/0/load", open_load(1e6, "constant")));
    stage &s = r.at(client, stage_kind::app_tx);
    const latency_histogram &pacing = *s.current->pacing;
    const auto send_at = [&](uint64_t ns) {
        const auto ticks = static_cast<uint64_t>(std::llround(static_cast<double>(ns) / r.clock.ns_per_tick));
        return s.run(s.role, {s.current, 1'000'000 + ticks}).objects;
    };
    ASSERT_EQ(send_at(0), 0u);        // starts the clock
    ASSERT_EQ(send_at(10'500), 10u);  // those of 1 us to 10 us
    EXPECT_EQ(pacing.total, 10u);
    EXPECT_NEAR(pacing.sum, 50'000, 20);
    for (uint64_t late = 500; late < 10'000; late += 1000) {
        const uint32_t bucket = pacing.bucket_of(late);
        EXPECT_EQ(pacing.counts[bucket - 1] + pacing.counts[bucket] + pacing.counts[bucket + 1], 1u) << late;
    }
    ASSERT_EQ(send_at(10'000'000'000), 22u);  // those of 11 us to 32 us: no more may be in flight
    EXPECT_EQ(pacing.total, 32u);
    EXPECT_NEAR(static_cast<double>(pacing.max), 1e10 - 11'000, 20);
    EXPECT_NEAR(static_cast<double>(pacing.sum), 50'000 + 22 * (1e10 - 21'500), 1000);
    const uint32_t bucket = pacing.bucket_of(10'000'000'000 - 21'500);
    EXPECT_EQ(pacing.counts[bucket], 22u);
    r.loops(10);
}

TEST(stages, without_a_udp_checksum_frames_go_both_ways) {
    json plan = rig_plan();
    for (int endpoint : {0, 1}) plan["endpoints"][endpoint]["port"]["udp_checksum"] = false;
    rig r(plan);
    for (const byte_vector &frame : r.sent(client)) {
        EXPECT_EQ(big16(frame, 40), 0u);
        r.deliver(server, {frame});
    }
    r.loop(server);
    const auto responses = r.taken_off(client);
    ASSERT_EQ(responses.size(), 32u);
    for (const byte_vector &frame : responses) EXPECT_EQ(big16(frame, 40), 0u);
    r.deliver(client, responses);
    r.loop(client);
    EXPECT_EQ(r.stats(client, stage_kind::app_rx).responses, 32u);
    EXPECT_TRUE(r.drops(client).empty() && r.drops(server).empty());
    r.loops(3);
}

TEST(stages, open_loop_without_mbufs_keeps_its_arrivals) {
    rig r(with("/workloads/0/load", open_load(1e9, "constant")));
    r.hoard(client, 0);
    r.run(client, app_tx);
    while (r.stats(client, app_tx).offered < 40) EXPECT_TRUE(r.run(client, app_tx).objects == 0);
    EXPECT_EQ(r.stats(client, app_tx).sent, 0u);
    r.give_back();
    r.run(client, app_tx);
    EXPECT_EQ(r.stats(client, app_tx).sent, 32u);
    // the first message's intended time is the first arrival's, not that of the mbufs
    EXPECT_GT(r.app(client).inflight->slots[0].sent, r.app(client).inflight->slots[0].intended + 30);
}

// Draws from a Poisson load, which each move the generator's state on by the same.
uint64_t draws(uint64_t from, uint64_t to) {
    uint64_t count = 0;
    for (; from != to; count++) random_next(&from);
    return count;
}

TEST(stages, a_message_of_a_poisson_load_is_drawn_once) {
    json plan = with("/workloads/0/load", open_load(1e6, "poisson"));
    plan["endpoints"][client]["applications"][0]["inflight"] = 256;
    rig r(plan);
    stage &s = r.at(client, stage_kind::app_tx);
    const client_sending &sending = *r.app(client).sending;
    const uint64_t first = sending.next.random;
    uint64_t now = 1'000'000;
    while (s.current->sent < 200) {
        s.run(s.role, {s.current, now += 3000});
        r.run(client, disp_tx);
        r.run(client, nic_tx);
        r.taken_off(server);
    }
    EXPECT_EQ(draws(first, sending.next.random), s.current->sent);
    EXPECT_EQ(sending.due.random, sending.next.random) << "drawn for the count alone";
    EXPECT_EQ(s.current->offered, s.current->sent);
}

// What falls due in a pause of a second is counted in bounded steps, and keeps its intended times.
TEST(stages, a_poisson_load_catches_up_in_bounded_steps) {
    rig r(with("/workloads/0/load", open_load(1e6, "poisson")));
    stage &s = r.at(client, stage_kind::app_tx);
    constexpr uint64_t start = 1'000'000, later = start + 1'000'000'000;
    s.run(s.role, {s.current, start});
    arrival_cursor walking = r.app(client).sending->next;
    uint64_t due = 0, calls = 0;
    for (; arrival_is_due(walking, later); due++) arrival_advance(walking);
    for (uint64_t before; s.current->offered < due; calls++) {
        before = s.current->offered;
        s.run(s.role, {s.current, later});
        ASSERT_LE(s.current->offered - before, arrival_most_steps + 32u);
    }
    EXPECT_EQ(s.current->offered, due);
    EXPECT_NEAR(static_cast<double>(due), 1e6, 5000);
    EXPECT_EQ(s.current->sent + r.app(client).sending->unsent, due);
    EXPECT_GT(calls, 1000u);
}

TEST(stages, responses_in_new_mbufs_wait_for_mbufs) {
    rig r(with("/endpoints/1/response_mbuf", "new"));
    std::vector<byte_vector> requests;
    for (uint32_t slot = 0; slot < 8; slot++) requests.push_back(r.request(slot, 1));
    r.deliver(server, requests);
    r.run(server, nic_rx);
    r.run(server, disp_rx);
    r.hoard(server, 0);
    EXPECT_EQ(r.run(server, app_rx).objects, 8u);
    for (int i = 0; i < 3; i++) {
        const call_result held = r.run(server, app_rx);
        EXPECT_TRUE(held.stalled == for_mbufs && held.objects == 0);
    }
    rte_pktmbuf_free(r.hoarded.back());
    r.hoarded.pop_back();
    for (const uint32_t waiting : {7u, 0u}) {
        const call_result went_on = r.run(server, app_rx);
        EXPECT_TRUE(went_on.worked && went_on.objects == 0) << "they have been counted";
        EXPECT_EQ(r.app(server).responding->ready.size() - r.app(server).responding->ready_head, waiting);
        r.give_back();
    }
    r.run(server, disp_tx);
    r.run(server, nic_tx);
    EXPECT_EQ(r.taken_off(client).size(), 8u);
}

// However often a response has to wait: for mbufs, for room in the ring, in place or not.
TEST(stages, a_server_counts_each_request_once_under_back_pressure) {
    for (const char *response_mbuf : {"request", "new"})
        for (const int response : {86, 4000}) {
            json plan = with("/endpoints/1/response_mbuf", response_mbuf);
            plan["endpoints"][server]["ring_size"] = 4;
            plan["workloads"][0]["response_bytes"] = response;
            rig r(plan);
            r.hoard(server, 4);
            std::vector<byte_vector> requests;
            for (uint32_t slot = 0; slot < 32; slot++) requests.push_back(r.request(slot, 1));
            r.deliver(server, requests);
            uint64_t objects = 0, unmoved = 0;
            for (int i = 0; i < 200; i++) {
                for (const auto kind : {nic_rx, disp_rx}) r.run(server, kind);
                const call_result result = r.run(server, app_rx);
                objects += result.objects;
                unmoved += result.objects == 0 && result.worked;
                if (i % 3 == 0)
                    for (const auto kind : {disp_tx, nic_tx}) r.run(server, kind);
                r.taken_off(client);
            }
            EXPECT_EQ(objects, 32u) << response_mbuf << response;
            EXPECT_EQ(r.stats(server, app_rx).unmoved_calls, unmoved);
            EXPECT_GT(unmoved + (response == 86 && std::string(response_mbuf) == "request"), 0u);
        }
}

TEST(stages, a_pool_exhausted_mid_burst_loses_nothing) {
    rig r(with("/workloads/0/response_bytes", 4000,
               with("/endpoints/1/response_mbuf", "new")));  // 3 mbufs a response
    r.hoard(server, 7);                                      // enough for 2
    r.loops(60);
    r.f.signals.sending = false;
    r.loops(60);
    EXPECT_EQ(r.stats(client, app_rx).responses, r.stats(client, app_tx).sent);
    EXPECT_GT(r.stats(client, app_tx).sent, 50u);
}

TEST(stages, full_rings_stall_senders_and_lose_nothing) {
    rig r(with("/endpoints/1/ring_size", 2, with("/endpoints/0/ring_size", 2)));  // room for one
    EXPECT_EQ(r.run(client, app_tx).objects, 1u);
    const call_result held = r.run(client, app_tx);
    EXPECT_TRUE(held.stalled == for_ring && held.objects == 0);
    r.loops(400);
    r.f.signals.sending = false;
    r.loops(100);
    EXPECT_GT(r.stats(client, app_tx).sent, 100u);
    EXPECT_EQ(r.stats(client, app_rx).responses, r.stats(client, app_tx).sent);
}

TEST(stages, a_dispatcher_waits_for_room_in_its_applications_ring) {
    rig r(with("/endpoints/1/ring_size", 4));
    for (uint32_t slot = 0; slot < 5; slot++) r.deliver(server, {r.request(slot, 1)});
    EXPECT_EQ(r.run(server, nic_rx).objects, 5u);
    EXPECT_EQ(r.run(server, disp_rx).objects, 3u);
    const call_result held = r.run(server, disp_rx);
    EXPECT_TRUE(held.stalled == for_ring && held.objects == 0);
    r.run(server, app_rx);
    EXPECT_EQ(r.run(server, disp_rx).objects, 2u);
}

TEST(stages, a_port_that_takes_part_of_a_burst_gets_the_rest_in_order) {
    rig r(with("/endpoints/1/port/rx_descriptors", 2));
    r.run(client, app_tx);
    r.run(client, disp_tx);
    std::vector<byte_vector> arrived;
    for (int i = 0; i < 16; i++) {
        EXPECT_EQ(r.run(client, nic_tx).objects, 2u);
        const call_result held = r.run(client, nic_tx);
        EXPECT_EQ(held.stalled, i == 15 ? not_stalled : for_port);
        for (byte_vector &frame : r.taken_off(server)) arrived.push_back(std::move(frame));
    }
    ASSERT_EQ(arrived.size(), 32u);
    EXPECT_EQ(r.stats(client, nic_tx).packets, 32u);
    EXPECT_EQ(r.stats(client, disp_tx).tx_bytes, 32u * 128);
    for (uint32_t i = 0; i < 32; i++)
        EXPECT_EQ(message_header_read(arrived[i].data() + message_offset).slot, i);
}

TEST(stages, faults_on_a_wire_of_two_close_the_packet_ledger) {
    json plan = with("/endpoints/1/port/rx_descriptors", 2);
    for (int e : {0, 1})
        plan["endpoints"][e]["port"]["faults"] = {
            {"loss", 0.2}, {"duplicate", 0.5}, {"reorder", 0.5}, {"reorder_depth", 5}};
    plan["workloads"][0]["timeout_ns"] = 1000;
    auto r = std::make_unique<rig>(plan);
    r->loops(3000);
    const int fd = dup(r->fd);
    EXPECT_GT(named(r->drops(client), "emulated_loss"), 0u);
    EXPECT_GT(r->stats(client, app_rx).lost, 0u);
    EXPECT_GT(r->stats(client, app_rx).responses, 0u);
    r.reset();
    std::string text(static_cast<size_t>(lseek(fd, 0, SEEK_END)), 0);
    ASSERT_EQ(pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    close(fd);
    const json result = json::parse(text.substr(text.rfind('\n', text.size() - 2) + 1));
    for (const json &ledger : result["packets"]) EXPECT_EQ(ledger["missing"], 0) << ledger;
}

// A message handler of the tests' own, in place of the one that was opened.
void response_first_bytes(void *state, wt_exchange *burst, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) burst[i].response.length = *static_cast<uint32_t *>(state);
}
void response_nothing(void *, wt_exchange *burst, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) burst[i].flags |= WT_NO_RESPONSE;
}

struct shorter : testing::TestWithParam<std::tuple<const char *, uint32_t, uint32_t>> {};

TEST_P(shorter, responses_free_unneeded_mbufs) {
    const auto [response_mbuf, request_bytes, length] = GetParam();
    rig r(with("/workloads/0/request_bytes", request_bytes,
               with("/workloads/0/response_bytes", 4000, with("/endpoints/1/response_mbuf", response_mbuf))));
    wt_handler mine{};
    mine.message = response_first_bytes;
    uint32_t said = length;
    r.app(server).handler = &mine;
    r.app(server).handler_state = &said;
    r.run(client, app_tx);
    r.f.signals.sending = false;
    for (int i = 0; i < 20; i++) r.loop(server), r.run(client, disp_tx), r.run(client, nic_tx);
    const std::vector<byte_vector> responses = r.taken_off(client);
    const uint32_t full = 1472 - 16, segments = std::max(1u, (length + full - 1) / full);
    ASSERT_EQ(responses.size(), segments * r.stats(client, app_tx).sent);
    uint32_t body = 0;
    for (uint32_t i = 0; i < segments; i++) {
        EXPECT_EQ(slow_udp_sum(responses[i]), 0xffffu);
        EXPECT_EQ(message_header_read(responses[i].data() + message_offset).segments, segments);
        body += big16(responses[i], 38) - 8 - 16;
    }
    EXPECT_EQ(body, length);
}

INSTANTIATE_TEST_SUITE_P(stages, shorter,
                         testing::Combine(testing::Values("request", "new"), testing::Values(86u, 4000u),
                                          testing::Values(0u, 1u, 1456u, 1457u, 3952u)));

TEST(stages, an_unexpected_response_is_dropped_with_a_reason) {
    for (const auto &[response_mbuf, bytes] :
         std::vector<std::pair<const char *, uint32_t>>{{"request", 4000}, {"new", 4000}, {"request", 86}}) {
        rig r(with("/workloads/0/request_bytes", bytes, with("/endpoints/1/response_mbuf", response_mbuf)));
        wt_handler mine{};
        mine.message = response_nothing;
        r.app(server).handler = &mine;
        r.run(client, app_tx);
        const uint64_t packets = r.stats(client, app_tx).sent * (bytes == 86 ? 1 : 3);
        r.f.signals.sending = false;
        r.loops(5);
        EXPECT_EQ(r.drops(server), (counts{{"without_response", packets}}));
    }
}

TEST(stages, responses_larger_than_their_requests_grow_in_place) {
    rig r(with("/workloads/0/response_bytes", 4000));
    wt_handler mine{};
    mine.message = response_first_bytes;
    uint32_t whole = 4000 - message_header_bytes;
    r.app(server).handler = &mine;
    r.app(server).handler_state = &whole;
    r.loops(20);
    r.f.signals.sending = false;
    r.loops(20);
    EXPECT_EQ(r.stats(client, app_rx).responses, r.stats(client, app_tx).sent);
    EXPECT_EQ(r.stats(client, nic_rx).packets, 3 * r.stats(client, app_tx).sent);
}

TEST(stages, lost_segments_are_superseded_by_the_next_generation) {
    rig r(with("/workloads/0/request_bytes", 4000));
    const auto segment = [&](uint32_t slot, uint32_t generation, uint16_t which) {
        return r.request(slot, generation, which, 3, which < 2 ? 1456 : 3984 - 2 * 1456);
    };
    r.deliver(server, {segment(0, 1, 0), segment(0, 1, 2), segment(1, 1, 1)});
    r.loop(server);
    EXPECT_TRUE(r.drops(server).empty());
    r.deliver(server, {segment(0, 3, 1), segment(0, 1, 1), segment(0, 3, 1), segment(0, 3, 0),
                       segment(0, 3, 2), segment(0, 3, 2)});
    r.loop(server);
    r.loop(server);
    EXPECT_EQ(r.drops(server), (counts{{"superseded", 2}, {"stale_segment", 1}, {"duplicate_segment", 2}}));
    EXPECT_EQ(r.taken_off(client).size(), 1u);  // slot 1 stays incomplete: the ledger finds it at "requests"
}

// The stamp of another worker may lie behind the burst's.
TEST(stages, a_latency_below_zero_is_counted) {
    rig r(rig_plan());
    stage &sends = r.at(client, app_tx), &receives = r.at(client, app_rx);
    constexpr uint64_t sent = 1'000'000;
    for (const uint64_t received : {sent - 1, sent}) {
        r.f.signals.sending = true;
        sends.run(sends.role, {sends.current, sent});
        r.f.signals.sending = false;
        for (const auto kind : {disp_tx, nic_tx}) r.run(client, kind);
        r.loop(server);
        for (const auto kind : {nic_rx, disp_rx}) r.run(client, kind);
        receives.run(receives.role, {receives.current, received});
        EXPECT_EQ(receives.current->negative_latency, 32u);
    }
    EXPECT_EQ(receives.current->responses, 64u);
    EXPECT_EQ(receives.current->latency->sent.counts[0], 64u);
}

TEST(stages, malformed_requests_are_dropped_with_a_reason) {
    rig one(rig_plan());
    one.deliver(server,
                {one.request(0, 1, 0, 2), one.request(0, 1, 1, 1), one.request(0, 1, 0, 1, 71),
                 one.request(0, 1, 0, 0), one.frame(server, {message_kind::response, 0, 0, 0, 1, 0, 1}, 70),
                 one.frame(server, {message_kind::request, 1, 0, 0, 1, 0, 1}, 70)});
    one.loop(server);
    EXPECT_EQ(one.drops(server), (counts{{"bad_segment_count", 2},
                                         {"bad_segment_index", 1},
                                         {"bad_segment_length", 1},
                                         {"bad_message_header", 1},
                                         {"wrong_workload", 1}}));
}

TEST(stages, malformed_responses_are_dropped_with_a_reason) {
    rig r(rig_plan());
    r.run(client, app_tx);  // slots 0 to 31 are in flight in their generation 1
    r.f.signals.sending = false;
    const uint32_t first = r.app(client).inflight->first_generation;
    const auto response = [&](uint32_t slot, uint32_t generation, uint16_t segment, uint16_t segments,
                              uint16_t application = 0) {
        return r.frame(client,
                       {message_kind::response, 0, application, slot, first + generation, segment, segments},
                       70);
    };
    r.deliver(client, {response(0, 1, 0, 1), response(0, 1, 0, 1), response(1, 3, 0, 1), response(1, 2, 0, 1),
                       response(99, 1, 0, 1), response(1, 1, 0, 2), response(1, 1, 0, 0),
                       response(1, 1, 5, 1), response(1, 1, 0, 1, 7)});
    r.run(client, nic_rx);
    r.run(client, disp_rx);
    r.run(client, app_rx);
    EXPECT_EQ(r.stats(client, app_rx).responses, 1u);
    EXPECT_EQ(r.drops(client), (counts{{"duplicate_response", 1},
                                       {"bad_slot", 3},
                                       {"bad_segment_count", 3},
                                       {"unknown_application", 1}}));
}

TEST(stages, a_response_after_its_timeout_is_late) {
    rig r(with("/workloads/0/timeout_ns", 1));
    r.run(client, app_tx);
    r.f.signals.sending = false;
    for (int i = 0; i < 600; i++) r.run(client, app_rx);
    EXPECT_EQ(r.stats(client, app_rx).lost, 32u);
    r.loops(5);
    EXPECT_EQ(r.stats(client, app_rx).late, 32u);
    EXPECT_EQ(r.drops(client), (counts{{"late_response", 32}}));
}

}  // namespace
}  // namespace wt::test::stages_test
