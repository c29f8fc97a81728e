// app_tx with copies from a source, and app_rx that checks what arrives: with a copier that a test drives by
// hand, and with those that Windtunnel has. Starts EAL on ordinary memory: no root, no hugepages.
#include "stages/copying.h"

#include <deque>

#include "copiers/costs.h"
#include "copiers/print_costs.h"
#include "copiers/trip.h"
#include "core/refusal.h"
#include "run/copies.h"
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
                   {"verify", true},  {"timeout_ns", 1'000'000'000}, {"lcores", json::array()}};
    w["copies"].update(copies);
    w.update(workload);
    return p;
}

// A copier that does what a test says.
struct by_hand {
    std::deque<copy_piece> running;
    uint32_t room = UINT32_MAX, may_end = 0;
    copy_end how = copy_end::well;
    bool copies = true;

    static uint32_t submit(void *state, const copy_piece *pieces, uint32_t count) {
        by_hand &h = *static_cast<by_hand *>(state);
        const uint32_t taken = std::min(count, h.room);
        h.running.insert(h.running.end(), pieces, pieces + taken);
        h.room -= taken;
        return taken;
    }
    static uint32_t completed(void *state, copy_end *ends, uint32_t most) {
        by_hand &h = *static_cast<by_hand *>(state);
        uint32_t count = 0;
        for (; count < most && h.may_end > 0 && !h.running.empty(); count++, h.may_end--) {
            const copy_piece piece = h.running.front();
            h.running.pop_front();
            if (h.copies && h.how == copy_end::well) std::memcpy(piece.to, piece.from, piece.bytes);
            ends[count] = h.how;
        }
        return count;
    }
};

// A rig whose client has this copier.
struct copying_rig : rig {
    by_hand hand;

    explicit copying_rig(const json &plan, bool is_by_hand = true) : rig(plan) {
        if (!is_by_hand) return;
        client_copying &c = copying();
        c.channel.close(c.channel.state);
        c.channel = {
            .state = &hand, .submit = by_hand::submit, .completed = by_hand::completed, .close = [](void *) {
            }};
    }
    ~copying_rig() {
        hand.may_end = UINT32_MAX;  // what still runs ends well
        f.signals.sending = false;
        loops(20);
    }

    client_copying &copying() { return *app(client).copying; }
    copy_stats &copies() { return *stats(client, app_tx).copies; }
    const body_checking &checked() { return *app(server).checking; }
    uint64_t by_cpu(copy_reason why) { return copies().by_cpu[static_cast<size_t>(why)]; }
    uint32_t on_the_ring() { return app(client).links[0]->to_dispatcher->used(); }
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
    client_copying &c = r.copying();
    r.run(client, app_tx);
    r.run(client, app_tx);
    EXPECT_TRUE(c.gave_up);
    EXPECT_EQ(r.copies().never_ended, 32u);
    EXPECT_EQ(abandoned_mbufs(r.f.endpoints[client]), 32u);
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

TEST(copying, costs_of_a_copier_that_fails_or_never_ends_are_refused) {
    std::vector<uint8_t> from(4096), to(4096);
    by_hand failing{.may_end = UINT32_MAX, .how = copy_end::failed}, silent{.may_end = 1};
    for (by_hand *hand : {&failing, &silent}) {
        const copy_channel channel{.state = hand, .submit = by_hand::submit, .completed = by_hand::completed};
        EXPECT_THROW(measure_costs(channel, {from, to}, 512, 2, 0, 3, 1'000'000), refusal);
    }
}

TEST(copying, what_is_asked_of_costs_is_checked) {
    const json good = {{"eal", json::array()}, {"engine", "cpu_nt"}, {"options", json::object()},
                       {"depth", 1},           {"batch", 1},         {"rounds", 1},
                       {"area_bytes", 4096},   {"sizes", {64, 4096}}};
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
    const client_copying &c = r.copying();
    EXPECT_EQ(c.channel.planted(c.channel.state).count, 10u);
    EXPECT_EQ(r.checked().wrong_packets, 10u);
    EXPECT_GT(r.checked().wrong_bytes, 10u);         // of copies that were not made
    EXPECT_LT(r.checked().wrong_bytes, 10u * 984u);  // and of some with one wrong byte
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
        const client_copying &c = r.copying();
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
              "no copier is called \"dsa\"; there are cpu, cpu_nt, dma, planted");
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

// DPDK's software engine, a thread of its own.
TEST(copying, a_dma_engine_copies_beside_the_worker) {
    copying_rig r(copying_plan({{"engine", "dma"}, {"lcores", {1}}}), false);
    client_copying &c = r.copying();
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

}  // namespace
}  // namespace wt::test

int main(int argc, char **argv) { return wt::test::run_all_on_eal(argc, argv, 128, "0@0,1@0"); }
