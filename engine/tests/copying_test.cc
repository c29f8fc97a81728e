// app_tx with copies from a source, app_rx with copies that a handler names, and what checks bodies that
// arrive: with a copier that a test drives by hand, and with those that Windtunnel has. Starts EAL on
// ordinary memory: no root, no hugepages.
#include "stages/copying.h"

#include <rte_pause.h>

#include <functional>
#include <numeric>

#include "by_hand.h"
#include "copiers/costs.h"
#include "copiers/print_costs.h"
#include "copiers/registry.h"
#include "copiers/trip.h"
#include "core/refusal.h"
#include "run/copies.h"
#include "run/copy_costs.h"
#include "stages_rig.h"

namespace wt::test {
namespace {

using nlohmann::json;
using enum stage_kind;

json copying_plan(const json &copies = json::object(), const json &workload = json::object()) {
    json p = rig_plan();
    json &w = p["workloads"][0];
    w.update({{"request_bytes", 1000},
              {"client_slots", 32},
              {"source", {{"bytes", 1 << 16}, {"order", "rotating"}}}});
    w["copies"] = {{"engine", "cpu"}, {"options", json::object()},   {"depth", 64},
                   {"batch", 32},     {"way", "pipelined"},          {"at_least_bytes", 0},
                   {"verify", true},  {"timeout_ns", 1'000'000'000}, {"lcores", json::array()},
                   {"model", nullptr}};
    w["copies"].update(copies);
    w.update(workload);
    return p;
}

// Responses that fs_read names.
json naming_plan(const json &copies = json::object(), const json &workload = json::object()) {
    json p = copying_plan(copies);
    p["workloads"][0].update({{"request_bytes", 86},
                              {"response_bytes", 1016},  // a body of 1000, with a head of 16
                              {"source", nullptr},
                              {"handler", {{"name", "fs_read"}, {"options", {{"file", "65536"}}}}}});
    p["workloads"][0].update(workload);
    return p;
}

// A rig whose client has this copier.
struct copying_rig : rig {
    by_hand hand;

    explicit copying_rig(const json &plan, bool is_by_hand = true) : rig(plan) {
        if (!is_by_hand) return;
        body_copying &c = copying();
        c.channel.close(c.channel.state);
        c.channel = {
            .state = &hand, .submit = by_hand::submit, .completed = by_hand::completed, .close = [](void *) {
            }};
    }
    ~copying_rig() {
        hand.may_end = UINT32_MAX;  // what still runs ends well
        f.signals.sending = false;
        loops(500);
    }

    bool has_source() { return app(client).source != nullptr; }
    size_t copying_side() { return has_source() ? client : server; }
    body_copying &copying() { return *app(copying_side()).copying; }
    copy_stats &copies() { return *stats(copying_side(), has_source() ? app_tx : app_rx).copies; }
    const checked_bodies &checked() {
        return has_source() ? app(server).checking_requests->found : app(client).checking_responses->found;
    }
    // One call of the stage that has the copier.
    call_result call() { return run(copying_side(), has_source() ? app_tx : app_rx); }
    uint64_t by_cpu(copy_reason why) { return copies().by_cpu[static_cast<size_t>(why)]; }
    uint32_t on_the_ring() { return app(copying_side()).links[0]->to_dispatcher->used(); }
    // Brings requests to the server's app_rx.
    void send() {
        loop(client);
        run(server, nic_rx);
        run(server, disp_rx);
    }
};

TEST(copying, a_packet_leaves_when_its_copy_has_ended) {
    copying_rig r(copying_plan());
    const call_result first = r.run(client, app_tx);
    EXPECT_EQ(first.objects, 0u);
    EXPECT_TRUE(first.worked);
    EXPECT_EQ(first.stalled, not_stalled);
    EXPECT_EQ(r.hand.running.size(), 32u);
    const call_result held = r.run(client, app_tx);  // the in-flight budget is used up
    EXPECT_EQ(held.stalled, for_copies);
    EXPECT_EQ(r.on_the_ring(), 0u);
    r.hand.may_end = 5;
    EXPECT_EQ(r.run(client, app_tx).objects, 5u);
    EXPECT_EQ(r.on_the_ring(), 5u);
    r.hand.may_end = UINT32_MAX;
    r.loops(20);
    EXPECT_GT(r.checked().packets, 200u);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
    EXPECT_EQ(r.stats(client, app_rx).responses, r.checked().packets);
    EXPECT_EQ(r.copies().completion.total, r.copies().copies);
}

TEST(copying, with_wait_all_none_leaves_before_the_last_copy_of_its_burst) {
    copying_rig r(copying_plan({{"way", "wait_all"}}));
    r.run(client, app_tx);
    r.hand.may_end = 31;
    EXPECT_EQ(r.run(client, app_tx).objects, 0u);
    EXPECT_EQ(r.run(client, app_tx).stalled, for_copies);
    EXPECT_EQ(r.on_the_ring(), 0u);
    EXPECT_EQ(r.copying().pending.running, 1u);
    r.hand.may_end = 1;
    EXPECT_EQ(r.run(client, app_tx).objects, 32u);
}

TEST(copying, no_more_run_at_once_than_the_depth) {
    copying_rig r(copying_plan({{"depth", 6}, {"batch", 4}}));
    r.run(client, app_tx);
    EXPECT_EQ(r.hand.running.size(), 6u);
    r.hand.may_end = 3;
    r.run(client, app_tx);
    EXPECT_EQ(r.hand.running.size(), 6u);
    EXPECT_EQ(r.copying().submitted, 9u);
    EXPECT_EQ(r.copying().ended, 3u);
}

TEST(copying, a_poll_takes_a_batch_at_most) {
    copying_rig r(copying_plan({{"batch", 4}}));
    r.run(client, app_tx);
    r.hand.may_end = UINT32_MAX;
    EXPECT_EQ(r.run(client, app_tx).objects, 4u);
}

TEST(copying, what_finds_no_room_is_copied_by_the_cpu) {
    copying_rig r(copying_plan());
    r.hand.room = 10;
    r.run(client, app_tx);
    EXPECT_EQ(r.hand.running.size(), 10u);
    EXPECT_EQ(r.by_cpu(copy_reason::no_room), 22u);
    r.hand.may_end = r.hand.room = UINT32_MAX;
    r.loops(20);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
}

TEST(copying, what_fails_is_copied_by_the_cpu) {
    copying_rig r(copying_plan());
    r.hand.how = copy_end::failed;
    r.hand.may_end = UINT32_MAX;
    r.loops(10);
    EXPECT_GT(r.by_cpu(copy_reason::failed), 32u);
    EXPECT_EQ(r.copies().copies, 0u);
    EXPECT_EQ(r.checked().packets, r.by_cpu(copy_reason::failed));
    EXPECT_EQ(r.checked().wrong_packets, 0u);
    r.hand.how = copy_end::well;
    EXPECT_EQ(r.copies().sizes.total, r.copies().copies) << "what failed is of no size";
}

TEST(copying, small_copies_are_left_to_the_cpu) {
    copying_rig r(copying_plan({{"at_least_bytes", 985}}));  // a body has 984
    r.loops(10);
    EXPECT_TRUE(r.hand.running.empty());
    EXPECT_GT(r.by_cpu(copy_reason::small), 32u);
    EXPECT_EQ(r.copies().bytes, 984 * r.by_cpu(copy_reason::small));
    EXPECT_EQ(r.checked().wrong_packets, 0u);
}

// One that says it has copied what it has not.
TEST(copying, every_packet_of_a_lying_copier_is_found) {
    copying_rig r(copying_plan());
    r.hand.copies = false;
    r.hand.may_end = UINT32_MAX;
    r.loops(10);
    EXPECT_GT(r.checked().packets, 32u);
    EXPECT_EQ(r.checked().wrong_packets, r.checked().packets);
    EXPECT_EQ(r.checked().wrong_bytes, 984 * r.checked().packets);
    EXPECT_EQ(r.checked().first.offset, 0u);
}

TEST(copying, one_wrong_byte_is_found_in_its_place) {
    copying_rig r(copying_plan());
    r.run(client, app_tx);
    r.hand.may_end = 32;
    r.run(client, app_tx);
    rte_mbuf *m = nullptr;
    packet_ring &ring = *r.app(client).links[0]->to_dispatcher;
    ASSERT_EQ(ring.take(&m, 1), 1u);
    *rte_pktmbuf_mtod_offset(m, uint8_t *, body_offset + 700) ^= 1;
    ASSERT_EQ(ring.put(&m, 1), 1u);
    r.hand.may_end = UINT32_MAX;
    r.loops(2);
    EXPECT_EQ(r.checked().wrong_packets, 1u);
    EXPECT_EQ(r.checked().wrong_bytes, 1u);
    EXPECT_EQ(r.checked().first.offset, 700u);
}

TEST(copying, a_copier_that_never_ends_is_given_up_and_its_mbufs_are_not_used_again) {
    copying_rig r(copying_plan({{"timeout_ns", 1}}, {{"timeout_ns", 1'000'000'000'000}}));
    body_copying &c = r.copying();
    r.run(client, app_tx);
    r.run(client, app_tx);
    EXPECT_TRUE(c.gave_up);
    EXPECT_EQ(r.copies().never_ended, 32u);
    EXPECT_EQ(abandoned_mbufs(r.f, r.f.pools[client]), 32u);
    EXPECT_EQ(c.pending.count(), 0u);
    EXPECT_EQ(rte_mempool_avail_count(r.f.pools[client]), 511u - 32u);
    // for the test's own account: the messages are lost, and the copier is known to be gone
    rte_pktmbuf_free_bulk(c.abandoned.data(), 32);
    c.abandoned.clear();
    r.hand.running.clear();
}

TEST(copying, after_a_copier_is_given_up_the_cpu_copies) {
    copying_rig r(copying_plan());
    r.copying().gave_up = true;
    r.loops(10);
    EXPECT_TRUE(r.hand.running.empty());
    EXPECT_GT(r.by_cpu(copy_reason::gave_up), 32u);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
}

TEST(copying, before_a_hold_all_copies_end_and_no_packet_moves) {
    copying_rig r(copying_plan());
    stage &s = r.at(client, app_tx);
    ASSERT_NE(s.before_hold, nullptr);
    r.run(client, app_tx);
    r.hand.may_end = UINT32_MAX;
    s.before_hold(s.own_role, *s.current);
    EXPECT_EQ(r.copying().pending.running, 0u);
    EXPECT_EQ(r.on_the_ring(), 0u);
    EXPECT_EQ(r.run(client, app_tx).objects, 32u);
    EXPECT_EQ(r.at(server, app_rx).before_hold, nullptr);
}

TEST(copying, a_trip_is_of_small_copies_one_after_the_other) {
    by_hand hand{.may_end = UINT32_MAX};
    const copy_channel channel{.state = &hand, .submit = by_hand::submit, .completed = by_hand::completed};
    alignas(64) uint8_t from[trip_bytes], to[trip_bytes] = {};
    std::memset(from, 7, sizeof from);
    const copy_trip trip = measure_trip(channel, from, to, UINT64_MAX);
    EXPECT_GT(trip.ticks, 0);
    EXPECT_GT(trip.started, 0u);
    EXPECT_EQ(trip.started, trip.ended);
    EXPECT_EQ(std::memcmp(from, to, sizeof to), 0);
    EXPECT_TRUE(hand.running.empty());
}

TEST(copying, a_trip_that_does_not_end_or_fails_or_finds_no_room_has_no_reading) {
    const uint8_t from[trip_bytes] = {};
    uint8_t to[trip_bytes];
    by_hand silent{.may_end = 3}, failing{.may_end = UINT32_MAX, .how = copy_end::failed}, full{.room = 0};
    const auto trip_of = [&](by_hand &hand) {
        const copy_channel channel{
            .state = &hand, .submit = by_hand::submit, .completed = by_hand::completed};
        return measure_trip(channel, from, to, rte_rdtsc() + 1'000'000);
    };
    const copy_trip never = trip_of(silent), bad = trip_of(failing), none = trip_of(full);
    EXPECT_EQ(never.started, 4u);
    EXPECT_EQ(never.ended, 3u);
    EXPECT_EQ(bad.started, 1u);
    EXPECT_EQ(bad.ended, 1u);
    EXPECT_EQ(none.started, 0u);
    EXPECT_EQ(never.ticks + bad.ticks + none.ticks, 0);
}

TEST(copying, costs_are_of_every_piece_of_both_areas) {
    by_hand hand{.may_end = UINT32_MAX};
    const copy_channel channel{.state = &hand, .submit = by_hand::submit, .completed = by_hand::completed};
    std::vector<uint8_t> from(4096), to(4096);
    std::ranges::fill(from, uint8_t{7});
    const copy_costs costs = measure_costs(channel, {from, to}, 512, 2, 3, 5, UINT64_MAX);
    EXPECT_GT(costs.cpu, 0);
    EXPECT_GT(costs.caller, 0);
    EXPECT_GT(costs.copier, 0);
    EXPECT_EQ(costs.copies, 5u * 2 + 5u * 2);  // in turns with the CPU, and at the depth
    EXPECT_EQ(to, from);
    EXPECT_TRUE(hand.running.empty());
}

TEST(copying, the_cpu_copies_each_size_in_turn_from_where_the_last_one_ended) {
    std::vector<uint8_t> from(64 * 40);
    std::iota(from.begin(), from.end(), uint8_t{1});
    const std::vector<uint32_t> sizes = {64, 100, 256};
    std::array<std::array<uint8_t, 300>, 12> rooms{};
    std::vector<uint8_t *> to;
    for (auto &room : rooms) to.push_back(room.data());
    const std::vector<double> ticks = measure_cpu_copies(from, to, sizes, 2, 2);
    ASSERT_EQ(ticks.size(), 3u);
    for (const double each : ticks) EXPECT_GT(each, 0);
    // two rounds of two pieces of each size, on lines of their own
    for (size_t room = 0, at = 0; room < rooms.size(); room++) {
        const uint32_t bytes = sizes[room / 2 % 3];
        EXPECT_TRUE(std::equal(&from[at], &from[at + bytes], to[room])) << room;
        EXPECT_EQ(rooms[room][bytes], 0u) << room;
        at += (bytes + 63) / 64 * 64;
    }
}

TEST(copying, costs_of_a_copier_that_fails_or_never_ends_are_refused) {
    std::vector<uint8_t> from(4096), to(4096);
    by_hand failing{.may_end = UINT32_MAX, .how = copy_end::failed}, silent{.may_end = 1};
    for (by_hand *hand : {&failing, &silent}) {
        const copy_channel channel{.state = hand, .submit = by_hand::submit, .completed = by_hand::completed};
        EXPECT_THROW(measure_costs(channel, {from, to}, 512, 2, 0, 3, 1'000'000), refusal);
    }
}

TEST(copying, what_is_asked_of_costs_is_checked) {
    const json good = {{"eal", json::array()}, {"engine", "cpu_nt"},  {"options", json::object()},
                       {"depth", 1},           {"batch", 1},          {"rounds", 1},
                       {"area_bytes", 4096},   {"sizes", {64, 4096}}, {"model", nullptr}};
    EXPECT_EQ(read_copy_costs_asked(good.dump()).sizes.size(), 2u);
    for (const json &change : {json{{"sizes", {63}}}, json{{"sizes", {4097}}}, json{{"depth", 0}},
                               json{{"batch", 0}}, json{{"rounds", 0}}}) {
        json bad = good;
        bad.update(change);
        EXPECT_THROW(read_copy_costs_asked(bad.dump()), refusal) << change;
    }
    EXPECT_THROW(read_copy_costs_asked("{}"), refusal);
    EXPECT_THROW(read_copy_costs_asked("?"), refusal);
}

TEST(copying, packets_that_still_wait_at_the_end_have_an_owner) {
    copying_rig r(copying_plan());
    r.run(client, app_tx);
    r.hand.may_end = 40;
    finish_all_copies(r.f);
    free_pending(r.f);
    EXPECT_EQ(rte_mempool_avail_count(r.f.pools[client]), 511u);
}

// A request of many segments, cut at the MTU, whose packets come from their own parts of the source.
TEST(copying, long_requests_are_cut_and_copied) {
    for (const char *way : {"pipelined", "wait_all"}) {
        copying_rig r(copying_plan({{"way", way}, {"depth", 8}, {"batch", 4}},
                                   {{"request_bytes", 20000}, {"request_sizes", nullptr}}));
        r.hand.may_end = UINT32_MAX;
        r.loops(200);
        EXPECT_GT(r.stats(client, app_rx).responses, 5u) << way;
        EXPECT_GT(r.checked().packets, 14 * r.stats(client, app_rx).responses - 1) << way;
        EXPECT_EQ(r.checked().wrong_packets, 0u) << way;
    }
}

TEST(copying, requests_of_many_sizes_are_copied) {
    const json sizes = {
        {"kind", "sequence"}, {"bytes", {16, 17, 86, 3000, 1000}}, {"weights", json::array()}};
    copying_rig r(copying_plan(json::object(), {{"request_bytes", 3000}, {"request_sizes", sizes}}));
    r.hand.may_end = UINT32_MAX;
    r.loops(100);
    EXPECT_GT(r.stats(client, app_rx).responses, 100u);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
}

TEST(copying, without_mbufs_app_tx_stalls) {
    copying_rig r(copying_plan());
    r.hoard(client, 0);
    EXPECT_EQ(r.run(client, app_tx).stalled, for_mbufs);
    EXPECT_EQ(r.stats(client, app_tx).sent, 0u);
}

// Those that copy at once: a packet leaves in the call that made it.
TEST(copying, loops_of_the_cpu_copy_at_once) {
    for (const char *engine : {"cpu", "cpu_nt"})
        for (const char *way : {"pipelined", "wait_all"})
            for (const int bytes : {17, 86, 1000, 1457, 3000}) {
                copying_rig r(copying_plan({{"engine", engine}, {"way", way}}, {{"request_bytes", bytes}}),
                              false);
                const uint32_t segments = r.app(client).request.segments;
                EXPECT_EQ(r.run(client, app_tx).objects, 32 / segments * segments) << engine << way << bytes;
                r.loops(30);
                EXPECT_GT(r.checked().packets, 100u);
                EXPECT_EQ(r.checked().wrong_packets, 0u) << engine << way << bytes;
            }
}

json planted(const char *fault, const json &more = json::object()) {
    json options = {{"fault", fault}, {"share", "0.1"}};
    options.update(more);
    return {{"engine", "planted"}, {"options", options}};
}

TEST(copying, planted_lies_are_all_found) {
    copying_rig r(copying_plan(planted("lying", {{"most", "10"}})), false);
    r.loops(100);
    const body_copying &c = r.copying();
    EXPECT_EQ(c.channel.planted(c.channel.state).count, 10u);
    EXPECT_EQ(r.checked().wrong_packets, 10u);
    EXPECT_GT(r.checked().wrong_bytes, 10u);         // of copies that were not made
    EXPECT_LT(r.checked().wrong_bytes, 10u * 984u);  // and of some with one wrong byte
}

TEST(copying, planted_lies_are_all_found_whatever_the_seed) {
    for (uint64_t seed = 1; seed <= 10; seed++)
        for (json p : {copying_plan(planted("lying", {{"most", "10"}})),
                       naming_plan(planted("lying", {{"most", "10"}}))}) {
            p["seed"] = seed;
            copying_rig r(p, false);
            r.loops(100);
            const body_copying &c = r.copying();
            EXPECT_EQ(c.channel.planted(c.channel.state).count, 10u) << seed;
            EXPECT_EQ(r.checked().wrong_packets, 10u) << seed;
        }
}

TEST(copying, planted_faults_repeat_with_the_seed) {
    const auto wrong_bytes = [](uint64_t seed) {
        json p = copying_plan(planted("lying"));
        p["seed"] = seed;
        copying_rig r(p, false);
        r.loops(40);
        return r.checked().wrong_bytes;
    };
    EXPECT_EQ(wrong_bytes(5), wrong_bytes(5));
    EXPECT_NE(wrong_bytes(5), wrong_bytes(6));
}

TEST(copying, planted_failures_and_full_queues_are_made_good) {
    for (const auto &[fault, why] :
         {std::pair{"failing", copy_reason::failed}, {"full", copy_reason::no_room}}) {
        copying_rig r(copying_plan(planted(fault)), false);
        r.loops(100);
        const body_copying &c = r.copying();
        EXPECT_GT(c.channel.planted(c.channel.state).count, 10u);
        EXPECT_GE(r.by_cpu(why), c.channel.planted(c.channel.state).count) << fault;
        EXPECT_EQ(r.checked().wrong_packets, 0u) << fault;
        r.f.signals.sending = false;
        r.loops(20);
        EXPECT_EQ(r.stats(client, app_rx).responses, r.checked().packets) << fault;
        EXPECT_EQ(r.stats(client, app_tx).sent, r.checked().packets) << fault;
    }
}

TEST(copying, planted_delays_hold_back_what_is_behind_them) {
    copying_rig r(copying_plan(planted("late", {{"share", "1"}, {"most", "1"}, {"late_us", "1000"}})), false);
    const uint64_t start = now();
    r.run(client, app_tx);
    EXPECT_EQ(r.run(client, app_tx).objects, 0u);
    call_result last{};
    while (last.objects == 0 && now() - start < 10'000'000'000) last = r.run(client, app_tx);
    EXPECT_EQ(last.objects, 32u);
    EXPECT_GE(now() - start, 1'000'000u);  // ticks: the rig's clock has one a nanosecond
}

TEST(copying, a_silent_copier_never_ends_a_copy_again) {
    copying_rig r(copying_plan(planted("silent", {{"share", "1"}, {"most", "1"}})), false);
    r.run(client, app_tx);
    for (int i = 0; i < 100; i++) EXPECT_EQ(r.run(client, app_tx).stalled, for_copies);
    EXPECT_EQ(r.copying().pending.running, 32u);
    abandon_copies(r.copying(), r.copies());
    rte_pktmbuf_free_bulk(r.copying().abandoned.data(), 32);
    r.copying().abandoned.clear();
}

TEST(copying, is_refused_in_words) {
    const auto refusal_of = [](const json &copies) -> std::string {
        try {
            copying_rig r(copying_plan(copies), false);
        } catch (const refusal &said) {
            return said.what();
        }
        return "";
    };
    EXPECT_EQ(refusal_of({{"engine", "dsa"}}),
              "no copier is called \"dsa\"; there are cpu, cpu_nt, dma, model, planted");
    EXPECT_EQ(refusal_of({{"engine", "cpu"}, {"options", {{"fast", "1"}}}}),
              "cpu has no option 'fast'; it has none");
    EXPECT_EQ(refusal_of({{"engine", "planted"}, {"options", {{"engine", "planted"}}}}),
              "planted: works on another copier, not on itself");
    EXPECT_EQ(refusal_of({{"engine", "planted"}, {"options", {{"share", "2"}}}}),
              "planted: share = \"2\" is not a number from 0 to 1");
    EXPECT_EQ(refusal_of({{"engine", "dma"}, {"options", {{"device", "nobody"}}}}),
              "dma: no device \"nobody\"; EAL has found none");
    EXPECT_EQ(refusal_of({{"engine", "dma"}, {"lcores", {77}}}), "dma: lcore 77 is not one of EAL's");
    EXPECT_EQ(refusal_of({{"engine", "dma"}, {"depth", 8192}}),
              "dma: 8192 copies at once, it takes at most 8191");
}

// An engine as figures: 100 ns and 10 bytes a ns.
json modelled(const char *engine = "model", const json &options = json::object()) {
    return {{"engine", engine},
            {"options", options},
            {"model",
             {{"name", "test"},
              {"burst_ns", 10},
              {"copy_ns", {{{"bytes", 1}, {"value", 5}}}},
              {"poll_ns", 2},
              {"end_ns", 3},
              {"device",
               {{"latency_ns", 100},
                {"bytes_per_ns", {{{"bytes", 1}, {"value", 10}}}},
                {"at_once", 1},
                {"queue", 64},
                {"reports_bursts", false}}}}}};
}

TEST(copying, a_modelled_engine_moves_the_right_bytes_and_its_copies_take_their_time) {
    for (json p : {copying_plan(modelled()), naming_plan(modelled())}) {
        copying_rig r(p, false);
        EXPECT_EQ(r.copying().channel.kind, copier_kind::modelled);
        for (int i = 0; i < 100'000 && r.checked().packets < 500; i++) r.loops(1);
        EXPECT_GE(r.checked().packets, 500u);
        EXPECT_EQ(r.checked().wrong_packets, 0u);
        EXPECT_TRUE(finish_copies(r.copying(), r.copies(), UINT64_MAX));
        EXPECT_EQ(r.copying().submitted, r.copying().ended);
        EXPECT_EQ(r.copies().completion.total, r.copies().copies);
    }
}

TEST(copying, planted_lies_of_a_modelled_engine_are_all_found) {
    copying_rig r(copying_plan(modelled("planted", {{"engine", "model"}, {"share", "0.1"}, {"most", "10"}})),
                  false);
    const body_copying &c = r.copying();
    EXPECT_EQ(c.channel.kind, copier_kind::modelled);
    for (int i = 0; i < 100'000 && r.checked().packets < 500; i++) r.loops(1);
    EXPECT_EQ(c.channel.planted(c.channel.state).count, 10u);
    EXPECT_EQ(r.checked().wrong_packets, 10u);
}

TEST(copying, the_size_from_which_a_modelled_engine_saves_cycles_is_by_its_numbers) {
    json dear = modelled(), cheap = modelled();
    dear["model"]["copy_ns"][0]["value"] = 1e6;
    cheap["model"]["device"]["bytes_per_ns"][0]["value"] = 1e6;
    dear["at_least_bytes"] = cheap["at_least_bytes"] = nullptr;
    EXPECT_EQ(copying_rig(copying_plan(dear), false).copying().at_least, 985u);  // one more than the body
    EXPECT_LT(copying_rig(copying_plan(cheap), false).copying().at_least, 985u);
}

// The steps of a call are of the run's time: this copier keeps the CPU for a million ticks, and holds the
// run.
TEST(copying, for_what_a_copier_holds_the_run_is_in_no_step) {
    copying_rig r(copying_plan());
    body_copying &c = r.copying();
    c.channel.submit = [](void *state, const copy_piece *pieces, uint32_t count) {
        const uint64_t since = rte_rdtsc();
        while (rte_rdtsc() - since < 1'000'000) rte_pause();
        take_exactly(0, since);
        return by_hand::submit(state, pieces, count);
    };
    const uint64_t held = held_ticks, real = rte_rdtsc();
    c.steps->now = c.steps->taken.data();
    r.call();
    c.steps->now = nullptr;
    const wt_step &submit = c.steps->taken[c.first_step];
    EXPECT_EQ(submit.packets, 32u);
    EXPECT_GE(held_ticks - held, 1'000'000u);
    EXPECT_LE(submit.cycles + (held_ticks - held), rte_rdtsc() - real);
}

// DPDK's software engine, a thread of its own.
TEST(copying, a_dma_engine_copies_beside_the_worker) {
    copying_rig r(copying_plan({{"engine", "dma"}, {"lcores", {1}}}), false);
    body_copying &c = r.copying();
    EXPECT_STREQ(copier_kind_names[static_cast<int>(c.channel.kind)], "core");
    EXPECT_GT(c.channel.thread, 0);
    for (int i = 0; i < 1'000'000 && r.checked().packets < 500; i++) r.loops(1);
    EXPECT_GE(r.checked().packets, 500u);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
    EXPECT_TRUE(finish_copies(c, r.copies(), UINT64_MAX));
    const driver_copies driver = c.channel.driver(c.channel.state);
    EXPECT_EQ(driver.submitted, c.submitted);
    EXPECT_EQ(driver.completed, c.ended);
    EXPECT_EQ(r.copies().copies, c.ended);
}

TEST(copying, the_size_from_which_a_copier_saves_cycles_is_measured) {
    EXPECT_EQ(copying_rig(copying_plan({{"at_least_bytes", nullptr}}), false).copying().at_least, 0u);
    copying_rig slow(copying_plan({{"engine", "planted"},
                                   {"at_least_bytes", nullptr},
                                   {"options", {{"fault", "late"}, {"share", "0"}}}}),
                     false);
    EXPECT_GE(slow.copying().at_least, 64u);
    EXPECT_GT(slow.copying().submitted, 0u);
    EXPECT_EQ(slow.copying().submitted, slow.copying().ended);
}

TEST(copying, what_the_cpus_copies_cost_is_measured_where_a_copier_ends_its_own_later) {
    const json late = {{"engine", "planted"}, {"options", {{"fault", "late"}, {"share", "0"}}}};
    for (const bool of_requests : {true, false}) {
        copying_rig r(of_requests ? copying_plan(late) : naming_plan(late), false);
        const json told = cpu_copies_json(r.f, 0);
        std::vector<uint32_t> sizes;
        for (const json &each : told["costs"]) {
            sizes.push_back(each["bytes"]);
            EXPECT_GT(each["cycles"], 0);
        }
        EXPECT_EQ(sizes, (std::vector<uint32_t>{64, 128, 256, 512, of_requests ? 984u : 1000u}));
        EXPECT_EQ(told["from_bytes"], of_requests ? 64 * 1024 : 32 * 1000);
    }
    EXPECT_EQ(cpu_copies_json(copying_rig(copying_plan(), false).f, 0), nullptr)
        << "they end with their submit";
}

TEST(copying, the_cpu_copies_to_as_many_mbufs_as_take_turns) {
    const auto mbufs_of = [](json p, int cache) {
        p["endpoints"][0]["pool"]["cache"] = cache;
        copying_rig r(p);
        const uint32_t free = rte_mempool_avail_count(r.f.pools[client]);
        return std::pair{cpu_copies_json(r.f, 0)["to_places"].get<uint32_t>(), free};
    };
    json p = copying_plan({{"engine", "planted"}});
    EXPECT_EQ(mbufs_of(p, 32).first, 32u) << "in flight, and in the cache of one worker";
    const auto [around, free] = mbufs_of(p, 31);
    EXPECT_EQ(around, free) << "they have no room in the cache";
    part(p, {"disp_tx", "nic_tx", "nic_rx", "disp_rx"});
    EXPECT_GT(mbufs_of(p, 32).first, 32u) << "another worker frees them";
}

TEST(copying, the_cpu_copies_from_as_much_of_a_source_as_messages_do) {
    json p = copying_plan({{"engine", "planted"}}, {{"source", {{"bytes", 1 << 16}, {"order", "hot"}}}});
    EXPECT_EQ(cpu_copies_json(copying_rig(p).f, 0)["from_bytes"], 1024);
    p["workloads"][0]["request_bytes"] = 40;  // a body of 24
    const json told = cpu_copies_json(copying_rig(p).f, 0);
    EXPECT_EQ(told["from_bytes"], 64);
    EXPECT_EQ(told["costs"].size(), 1u);
    EXPECT_EQ(told["costs"][0]["bytes"], 24);
}

TEST(naming, a_response_leaves_when_its_copy_has_ended) {
    copying_rig r(naming_plan());
    r.send();
    const call_result first = r.call();
    EXPECT_EQ(first.objects, 32u);  // requests
    EXPECT_EQ(r.hand.running.size(), 32u);
    EXPECT_EQ(r.hand.running.front().bytes, 984u);
    EXPECT_EQ(r.on_the_ring(), 0u);
    EXPECT_EQ(r.call().stalled, for_copies);
    r.hand.may_end = 5;
    const call_result went_on = r.call();
    EXPECT_TRUE(went_on.worked && went_on.objects == 0) << "requests count once";
    EXPECT_EQ(r.stats(server, app_rx).unmoved_calls, 1u);
    EXPECT_EQ(r.on_the_ring(), 5u);
    r.hand.may_end = UINT32_MAX;
    r.loops(20);
    EXPECT_GT(r.checked().packets, 200u);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
    EXPECT_EQ(r.stats(client, app_rx).responses, r.checked().packets);
    EXPECT_EQ(r.copies().completion.total, r.copies().copies);
    EXPECT_EQ(r.copies().sizes.total, r.copies().copies);
    EXPECT_EQ(r.copies().sizes.sum, 984 * r.copies().copies);
    EXPECT_EQ(r.copies().bytes, 984 * r.copying().submitted);
}

TEST(naming, goes_by_the_rules_of_depth_and_batch) {
    copying_rig r(naming_plan({{"depth", 6}, {"batch", 4}}));
    r.send();
    r.call();
    EXPECT_EQ(r.hand.running.size(), 6u);
    r.hand.may_end = UINT32_MAX;
    r.call();
    EXPECT_EQ(r.on_the_ring(), 4u) << "a poll takes a batch at most";
}

TEST(naming, no_request_is_taken_while_responses_wait_for_their_copies) {
    json p = naming_plan({{"depth", 1}, {"batch", 1}}, {{"client_slots", 64}});
    p["endpoints"][0]["applications"][0]["inflight"] = 64;
    copying_rig r(p);
    r.send();
    EXPECT_EQ(r.call().objects, 32u);
    r.send();
    const uint32_t waiting = r.app(server).links[0]->to_application->used();
    ASSERT_GT(waiting, 0u);
    EXPECT_EQ(r.call().stalled, for_copies);
    EXPECT_EQ(r.app(server).links[0]->to_application->used(), waiting);
}

// A call that only found copies that run is no work of theirs.
TEST(naming, the_steps_of_a_stalled_call_are_forgotten) {
    copying_rig r(naming_plan());
    handler_steps &steps = *r.copying().steps;
    steps.now = steps.taken.data();
    r.send();
    r.call();
    EXPECT_EQ(steps.taken[0].packets, 32u);
    steps.taken.fill({});
    EXPECT_EQ(r.call().stalled, for_copies);
    for (const wt_step &step : steps.taken) EXPECT_EQ(step.stamps, 0u);
    steps.now = nullptr;
}

// So that each books its own, whatever their names.
TEST(naming, the_steps_of_a_copier_stand_behind_those_of_its_handler) {
    const std::string handler = std::string(std::getenv("WT_TEST_PLUGINS")) + "/names_copies.so";
    json p = naming_plan({{"engine", "planted"}, {"verify", false}},
                         {{"handler", {{"name", handler}, {"options", json::object()}}}});
    p["accounting"]["level"] = "sampled";
    copying_rig r(p);
    nlohmann::ordered_json lines;
    add_steps(lines, r.at(server, app_rx), r.stats(server, app_rx), side::server);
    std::vector<std::pair<std::string, bool>> named;
    for (const auto &line : lines) named.emplace_back(line["step"], line["copier"]);
    EXPECT_EQ(
        named,
        (decltype(named){
            {"look", false}, {"submit", false}, {"submit", true}, {"poll", true}, {"copy by CPU", true}}));
    handler_steps &steps = *r.copying().steps;
    steps.now = steps.taken.data();
    r.send();
    r.call();
    r.hand.may_end = 5;
    r.call();
    std::vector<uint64_t> packets;
    for (size_t i = 0; i < named.size(); i++) packets.push_back(steps.taken[i].packets);
    EXPECT_EQ(packets, (std::vector<uint64_t>{32, 64, 32, 5, 0}));
    steps.now = nullptr;
}

TEST(naming, with_wait_all_none_leaves_before_the_last_copy_of_its_burst) {
    copying_rig r(naming_plan({{"way", "wait_all"}}));
    r.send();
    r.call();
    r.hand.may_end = 31;
    EXPECT_EQ(r.call().objects, 0u);
    EXPECT_EQ(r.call().stalled, for_copies);
    EXPECT_EQ(r.on_the_ring(), 0u);
    r.hand.may_end = 1;
    r.call();
    EXPECT_EQ(r.on_the_ring(), 32u);
}

// Responses of many segments, of many sizes, in mbufs of their own or in their request's, and with a request
// of many segments.
TEST(naming, every_shape_of_a_response_is_copied_right) {
    const json sizes = {
        {"kind", "sequence"}, {"bytes", {16, 17, 32, 33, 86, 3000, 9000}}, {"weights", json::array()}};
    for (const char *way : {"pipelined", "wait_all"})
        for (const char *mbuf : {"request", "new"})
            for (const int request : {17, 22, 86, 4000})
                for (const bool vary : {false, true}) {
                    json p = naming_plan({{"way", way}, {"depth", 8}, {"batch", 4}},
                                         {{"request_bytes", request}, {"response_bytes", 9000}});
                    if (vary) p["workloads"][0]["response_sizes"] = sizes;
                    p["endpoints"][1]["response_mbuf"] = mbuf;
                    copying_rig r(p);
                    r.hand.may_end = UINT32_MAX;
                    r.loops(300);
                    EXPECT_GT(r.stats(client, app_rx).responses, 5u) << way << mbuf << request << vary;
                    EXPECT_GE(r.checked().packets, r.stats(client, app_rx).responses);
                    EXPECT_EQ(r.checked().wrong_packets, 0u) << way << mbuf << request << vary;
                }
}

TEST(naming, loops_of_the_cpu_copy_at_once) {
    for (const char *engine : {"cpu", "cpu_nt"})
        for (const int bytes : {33, 86, 1000, 3000}) {
            copying_rig r(naming_plan({{"engine", engine}}, {{"response_bytes", bytes}}), false);
            r.send();
            EXPECT_EQ(r.call().objects, 32u) << engine << bytes;
            EXPECT_GT(r.on_the_ring(), 30u);
            r.loops(30);
            EXPECT_GT(r.checked().packets, 100u);
            EXPECT_EQ(r.checked().wrong_packets, 0u) << engine << bytes;
        }
}

TEST(naming, every_packet_of_a_lying_copier_is_found) {
    copying_rig r(naming_plan());
    r.hand.copies = false;
    r.hand.may_end = UINT32_MAX;
    r.loops(10);
    EXPECT_GT(r.checked().packets, 32u);
    EXPECT_EQ(r.checked().wrong_packets, r.checked().packets);
    EXPECT_EQ(r.checked().wrong_bytes, 984 * r.checked().packets);
    EXPECT_EQ(r.checked().first.offset, 16u);
}

// Bytes that are right elsewhere: every packet gets the copy of the packet behind it.
TEST(naming, the_bytes_of_another_message_are_wrong) {
    copying_rig r(naming_plan());
    r.send();
    r.call();
    ASSERT_EQ(r.hand.running.size(), 32u);
    const uint8_t *const first = r.hand.running.front().from;
    for (size_t i = 0; i + 1 < 32; i++) r.hand.running[i].from = r.hand.running[i + 1].from;
    r.hand.running.back().from = first;
    r.hand.may_end = 32;
    r.call();
    r.hand.may_end = UINT32_MAX;
    r.f.signals.sending = false;
    r.loops(5);
    EXPECT_EQ(r.checked().packets, 32u);
    EXPECT_EQ(r.checked().wrong_packets, 32u);
}

TEST(naming, one_wrong_byte_is_found_in_its_place) {
    for (const uint32_t at : {0u, 15u, 16u, 999u}) {  // of the head, too
        copying_rig r(naming_plan());
        r.send();
        r.hand.may_end = UINT32_MAX;
        r.call();
        r.call();
        rte_mbuf *m = nullptr;
        packet_ring &ring = *r.app(server).links[0]->to_dispatcher;
        ASSERT_EQ(ring.take(&m, 1), 1u);
        *rte_pktmbuf_mtod_offset(m, uint8_t *, body_offset + at) ^= 1;
        ASSERT_EQ(ring.put(&m, 1), 1u);
        r.loops(2);
        EXPECT_EQ(r.checked().wrong_packets, 1u);
        EXPECT_EQ(r.checked().wrong_bytes, 1u);
        EXPECT_EQ(r.checked().first.offset, at);
    }
}

TEST(naming, a_late_response_is_not_checked_against_another_request) {
    copying_rig r(naming_plan(json::object(), {{"timeout_ns", 1000}}));
    r.send();
    r.call();  // and its copies run until after the requests have timed out
    r.hand.may_end = UINT32_MAX;
    for (int i = 0; i < 2000; i++) r.loops(1);
    EXPECT_GT(r.stats(client, app_rx).late, 0u);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
}

TEST(naming, without_mbufs_the_server_stalls_and_takes_nothing_more) {
    json p = naming_plan();
    p["endpoints"][1]["response_mbuf"] = "new";
    copying_rig r(p);
    r.hand.may_end = UINT32_MAX;
    r.send();
    r.hoard(server, 0);
    EXPECT_EQ(r.call().objects, 32u);
    EXPECT_EQ(r.call().stalled, for_mbufs);
    EXPECT_TRUE(r.hand.running.empty());
    r.give_back();
    r.loops(20);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
    EXPECT_GT(r.checked().packets, 32u);
}

TEST(naming, a_copier_that_never_ends_is_given_up_and_its_mbufs_are_not_used_again) {
    for (const char *mbuf : {"request", "new"}) {
        json p = naming_plan({{"timeout_ns", 1}}, {{"timeout_ns", 1'000'000'000'000}});
        p["endpoints"][1]["response_mbuf"] = mbuf;
        copying_rig r(p);
        body_copying &c = r.copying();
        r.send();
        r.call();
        r.call();
        EXPECT_TRUE(c.gave_up);
        EXPECT_EQ(r.copies().never_ended, 32u);
        // on this wire requests change hands: theirs are the client's
        const bool are_clients = std::string(mbuf) == "request";
        EXPECT_EQ(abandoned_mbufs(r.f, r.f.pools[client]), are_clients ? 32u : 0u);
        EXPECT_EQ(abandoned_mbufs(r.f, r.f.pools[server]), are_clients ? 0u : 32u);
        // for the test's own account
        rte_pktmbuf_free_bulk(c.abandoned.data(), 32);
        c.abandoned.clear();
        r.hand.running.clear();
        r.loops(10);
        EXPECT_TRUE(r.hand.running.empty());
        EXPECT_EQ(r.checked().wrong_packets, 0u);
    }
}

TEST(naming, before_a_hold_all_copies_end_and_no_packet_moves) {
    copying_rig r(naming_plan());
    stage &s = r.at(server, app_rx);
    ASSERT_NE(s.before_hold, nullptr);
    EXPECT_EQ(r.at(client, app_tx).before_hold, nullptr);
    r.send();
    r.call();
    r.hand.may_end = UINT32_MAX;
    s.before_hold(s.own_role, *s.current);
    EXPECT_EQ(r.copying().pending.running, 0u);
    EXPECT_EQ(r.on_the_ring(), 0u);
    r.call();
    EXPECT_EQ(r.on_the_ring(), 32u);
}

TEST(naming, packets_that_still_wait_at_the_end_have_an_owner) {
    copying_rig r(naming_plan());
    r.send();
    r.call();
    r.hand.may_end = 40;
    finish_all_copies(r.f);
    const unsigned before = rte_mempool_avail_count(r.f.pools[client]);
    free_pending(r.f);
    EXPECT_EQ(rte_mempool_avail_count(r.f.pools[client]), before + 32u);
}

TEST(copying, applications_of_both_sides_have_skeletons_of_their_own) {
    const auto open = [] {
        return open_copier(
            "dma",
            {.application = 0, .depth = 32, .options = {}, .lcores = {1}, .seed = 1, .ticks_per_ns = 1});
    };
    const copy_channel one = open(), other = open();
    EXPECT_NE(one.device, other.device);
    one.close(one.state);
    other.close(other.state);
}

TEST(naming, a_dma_engine_copies_beside_the_worker) {
    copying_rig r(naming_plan({{"engine", "dma"}, {"lcores", {1}}}), false);
    for (int i = 0; i < 1'000'000 && r.checked().packets < 500; i++) r.loops(1);
    EXPECT_GE(r.checked().packets, 500u);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
    body_copying &c = r.copying();
    EXPECT_TRUE(finish_copies(c, r.copies(), UINT64_MAX));
    EXPECT_EQ(c.channel.driver(c.channel.state).completed, c.ended);
}

// A handler that names what nobody expects: several pieces, in no order, some across packets, some too long,
// more than there is room for; or nothing.
namespace odd {

std::vector<uint8_t> bytes(9000);
std::function<void(wt_exchange &)> names;

int open(const wt_open *, void **state) {
    *state = nullptr;
    return 0;
}
void message(void *, wt_exchange *burst, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) names(burst[i]);
}
const wt_handler handler = {.abi = WT_HANDLER_ABI,
                            .size = sizeof(wt_handler),
                            .name = "odd",
                            .help = "odd",
                            .kind = WT_MESSAGE_HANDLER,
                            .flags = WT_NAMES_COPIES,
                            .open = open,
                            .message = message};

// The bodies of the next responses, one after the other.
std::vector<byte_vector> responses(copying_rig &r, size_t packets) {
    r.app(server).handler = &handler;
    r.send();
    std::vector<byte_vector> bodies;
    for (int i = 0; i < 200; i++) {
        r.call();
        rte_mbuf *m;
        while (r.app(server).links[0]->to_dispatcher->take(&m, 1) == 1) {
            const auto *body = rte_pktmbuf_mtod_offset(m, const uint8_t *, body_offset);
            if (bodies.size() < packets) bodies.emplace_back(body, body + m->pkt_len - body_offset);
            rte_pktmbuf_free(m);
        }
    }
    return bodies;
}

}  // namespace odd

json odd_plan(const json &copies, uint32_t response) {
    return naming_plan(copies, {{"response_bytes", response + 16}, {"timeout_ns", 1'000'000'000'000}});
}

TEST(naming, several_copies_of_a_response_go_where_they_are_named) {
    std::iota(odd::bytes.begin(), odd::bytes.end(), uint8_t{1});
    odd::names = [](wt_exchange &x) {
        for (uint32_t i = 0; i < x.response.segment_count; i++)
            std::memset(x.response.segments[i].data, 0xee, x.response.segments[i].length);
        wt_response_copy(&x, 2900, odd::bytes.data() + 7, 50);  // into the third packet
        wt_response_copy(&x, 1400, odd::bytes.data(), 200);     // across two
        wt_response_copy(&x, 0, odd::bytes.data() + 100, 3);
        wt_response_copy(&x, 10, odd::bytes.data() + 3, 0);  // nothing
        wt_response_copy(&x, 2990, odd::bytes.data(), 500);  // no more than fits
        wt_response_copy(&x, 5000, odd::bytes.data(), 5);    // nowhere
        wt_response_copy(&x, 20, odd::bytes.data() + 50, 30);
    };
    byte_vector expected(3000, 0xee);
    const auto put = [&](size_t at, size_t from, size_t count) {
        std::copy_n(odd::bytes.begin() + static_cast<ptrdiff_t>(from), count,
                    expected.begin() + static_cast<ptrdiff_t>(at));
    };
    put(2900, 7, 50), put(1400, 0, 200), put(0, 100, 3), put(2990, 0, 10), put(20, 50, 30);
    for (const uint32_t depth : {1u, 3u, 64u}) {
        copying_rig r(odd_plan({{"depth", depth}, {"verify", false}}, 3000));
        r.hand.may_end = UINT32_MAX;
        byte_vector body;
        for (const byte_vector &packet : odd::responses(r, 3))
            body.insert(body.end(), packet.begin(), packet.end());
        EXPECT_EQ(body, expected) << depth;
        EXPECT_EQ(r.copies().bytes % (50 + 200 + 3 + 10), 0u) << "the fifth one was made at once";
    }
}

TEST(naming, without_a_copier_no_byte_beyond_the_response_is_written) {
    byte_vector room(20, 0xee);
    const wt_segment segment{room.data(), 20};
    wt_exchange x{};
    x.response = {&segment, 1, 12};
    wt_response_copy(&x, 10, odd::bytes.data(), 5);
    EXPECT_EQ(std::count(room.begin(), room.end(), 0xee), 18) << "10 and 11 are the last ones";
}

TEST(naming, what_a_handler_cuts_off_or_does_not_send_is_not_copied) {
    odd::names = [n = 0](wt_exchange &x) mutable {
        wt_response_copy(&x, 0, odd::bytes.data(), 1000);
        x.response.length = 300;
        if (n++ % 2) x.flags |= WT_NO_RESPONSE;
    };
    copying_rig r(odd_plan({{"verify", false}}, 1000));
    r.hand.may_end = UINT32_MAX;
    const auto bodies = odd::responses(r, 16);
    ASSERT_EQ(bodies.size(), 16u);
    for (const byte_vector &body : bodies)
        EXPECT_EQ(body, byte_vector(odd::bytes.begin(), odd::bytes.begin() + 300));
    EXPECT_EQ(r.copies().copies, 16u);
    EXPECT_EQ(r.copies().bytes, 16 * 300u);
}

TEST(naming, a_response_without_copies_leaves_in_its_turn) {
    odd::names = [n = 0](wt_exchange &x) mutable {
        if (n++ % 2)
            wt_response_copy(&x, 0, odd::bytes.data(), 5);
        else
            std::memset(x.response.segments[0].data, 0x77, 5);
        x.response.length = 5;
    };
    copying_rig r(odd_plan({{"verify", false}}, 1000));
    r.app(server).handler = &odd::handler;
    r.send();
    r.call();
    r.call();
    EXPECT_EQ(r.on_the_ring(), 1u) << "the first has no copy";
    r.hand.may_end = 3;
    r.call();
    EXPECT_EQ(r.on_the_ring(), 7u) << "three copies, and what stands between and behind them";
}

}  // namespace
}  // namespace wt::test

int main(int argc, char **argv) { return wt::test::run_all_on_eal(argc, argv, 128, "0@0,1@0"); }
