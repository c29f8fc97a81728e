// The copiers that Windtunnel has, those that lie on purpose and engines as figures; what their copies cost.
#include <numeric>

#include "copying_rig.h"
#include "core/refusal.h"
#include "parts/copies/accounts.h"
#include "parts/copies/copiers/costs.h"
#include "parts/copies/copiers/print_costs.h"
#include "parts/copies/copiers/registry.h"
#include "parts/copies/copiers/trip.h"

namespace wt::test::copiers_test {
namespace {

const needs_eal eal(128, 2);

TEST(copiers, a_trip_is_of_small_copies_one_after_the_other) {
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

TEST(copiers, a_trip_that_does_not_end_or_fails_or_finds_no_room_has_no_reading) {
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

TEST(copiers, costs_are_of_every_piece_of_both_areas) {
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

TEST(copiers, the_cpu_copies_each_size_in_turn_from_where_the_last_one_ended) {
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

TEST(copiers, costs_of_a_copier_that_fails_or_never_ends_are_refused) {
    std::vector<uint8_t> from(4096), to(4096);
    by_hand failing{.may_end = UINT32_MAX, .how = copy_end::failed}, silent{.may_end = 1};
    for (by_hand *hand : {&failing, &silent}) {
        const copy_channel channel{.state = hand, .submit = by_hand::submit, .completed = by_hand::completed};
        EXPECT_THROW(measure_costs(channel, {from, to}, 512, 2, 0, 3, 1'000'000), refusal);
    }
}

TEST(copiers, what_is_asked_of_costs_is_checked) {
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

// Those that copy at once: a packet leaves in the call that made it.
TEST(copiers, loops_of_the_cpu_copy_at_once) {
    for (const std::string &engine : loops_of_the_cpu())
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

TEST(copiers, planted_lies_are_all_found) {
    copying_rig r(copying_plan(planted("lying", {{"most", "10"}})), false);
    r.loops(100);
    const body_copying &c = r.copying();
    EXPECT_EQ(c.channel.planted(c.channel.state).count, 10u);
    EXPECT_EQ(r.checked().wrong_packets, 10u);
    EXPECT_GT(r.checked().wrong_bytes, 10u);         // of copies that were not made
    EXPECT_LT(r.checked().wrong_bytes, 10u * 984u);  // and of some with one wrong byte
}

TEST(copiers, planted_lies_are_all_found_whatever_the_seed) {
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

TEST(copiers, planted_faults_repeat_with_the_seed) {
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

TEST(copiers, planted_failures_and_full_queues_are_made_good) {
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

TEST(copiers, planted_delays_hold_back_what_is_behind_them) {
    copying_rig r(copying_plan(planted("late", {{"share", "1"}, {"most", "1"}, {"late_us", "1000"}})), false);
    const uint64_t start = now();
    r.run(client, app_tx);
    EXPECT_EQ(r.run(client, app_tx).objects, 0u);
    call_result last{};
    while (last.objects == 0 && now() - start < 10'000'000'000) last = r.run(client, app_tx);
    EXPECT_EQ(last.objects, 32u);
    EXPECT_GE(now() - start, 1'000'000u);  // ticks: the rig's clock has one a nanosecond
}

TEST(copiers, a_silent_copier_never_ends_a_copy_again) {
    copying_rig r(copying_plan(planted("silent", {{"share", "1"}, {"most", "1"}})), false);
    r.run(client, app_tx);
    for (int i = 0; i < 100; i++) EXPECT_EQ(r.run(client, app_tx).stalled, for_copies);
    EXPECT_EQ(r.copying().pending.running, 32u);
    abandon_copies(r.copying(), r.copies());
    rte_pktmbuf_free_bulk(r.copying().abandoned.data(), 32);
    r.copying().abandoned.clear();
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

TEST(copiers, a_modelled_engine_moves_the_right_bytes_and_its_copies_take_their_time) {
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

TEST(copiers, planted_lies_of_a_modelled_engine_are_all_found) {
    copying_rig r(copying_plan(modelled("planted", {{"engine", "model"}, {"share", "0.1"}, {"most", "10"}})),
                  false);
    const body_copying &c = r.copying();
    EXPECT_EQ(c.channel.kind, copier_kind::modelled);
    for (int i = 0; i < 100'000 && r.checked().packets < 500; i++) r.loops(1);
    EXPECT_EQ(c.channel.planted(c.channel.state).count, 10u);
    EXPECT_EQ(r.checked().wrong_packets, 10u);
}

TEST(copiers, the_size_from_which_a_modelled_engine_saves_cycles_is_by_its_numbers) {
    json dear = modelled(), cheap = modelled();
    dear["model"]["copy_ns"][0]["value"] = 1e6;
    cheap["model"]["device"]["bytes_per_ns"][0]["value"] = 1e6;
    dear["at_least_bytes"] = cheap["at_least_bytes"] = nullptr;
    EXPECT_EQ(copying_rig(copying_plan(dear), false).copying().at_least, 985u);  // one more than the body
    EXPECT_LT(copying_rig(copying_plan(cheap), false).copying().at_least, 985u);
}

TEST(copiers, the_size_from_which_a_copier_saves_cycles_is_measured) {
    EXPECT_EQ(copying_rig(copying_plan({{"at_least_bytes", nullptr}}), false).copying().at_least, 0u);
    copying_rig slow(copying_plan({{"engine", "planted"},
                                   {"at_least_bytes", nullptr},
                                   {"options", {{"fault", "late"}, {"share", "0"}}}}),
                     false);
    EXPECT_GE(slow.copying().at_least, 64u);
    EXPECT_GT(slow.copying().submitted, 0u);
    EXPECT_EQ(slow.copying().submitted, slow.copying().ended);
}

TEST(copiers, what_the_cpus_copies_cost_is_measured_where_a_copier_ends_its_own_later) {
    const json late = {{"engine", "planted"}, {"options", {{"fault", "late"}, {"share", "0"}}}};
    for (const bool of_requests : {true, false}) {
        copying_rig r(of_requests ? copying_plan(late) : naming_plan(late), false);
        const json told = r.told_of_cpu();
        std::vector<uint32_t> sizes;
        for (const json &each : told["costs"]) {
            sizes.push_back(each["bytes"]);
            EXPECT_GT(each["cycles"], 0);
        }
        EXPECT_EQ(sizes, (std::vector<uint32_t>{64, 128, 256, 512, of_requests ? 984u : 1000u}));
        EXPECT_EQ(told["from_bytes"], of_requests ? 64 * 1024 : 32 * 1000);
    }
    EXPECT_EQ(copying_rig(copying_plan(), false).told_of_cpu(), nullptr) << "they end with their submit";
}

TEST(copiers, the_cpu_copies_to_as_many_mbufs_as_take_turns) {
    const auto mbufs_of = [](json p, int cache) {
        p["endpoints"][0]["pool"]["cache"] = cache;
        copying_rig r(p);
        const uint32_t free = rte_mempool_avail_count(r.f.pools[client]);
        return std::pair{r.told_of_cpu()["to_places"].get<uint32_t>(), free};
    };
    json p = copying_plan({{"engine", "planted"}});
    EXPECT_EQ(mbufs_of(p, 32).first, 32u) << "in flight, and in the cache of one worker";
    const auto [around, free] = mbufs_of(p, 31);
    EXPECT_EQ(around, free) << "they have no room in the cache";
    part(p, {"disp_tx", "nic_tx", "nic_rx", "disp_rx"});
    EXPECT_GT(mbufs_of(p, 32).first, 32u) << "another worker frees them";
}

TEST(copiers, the_cpu_copies_from_as_much_of_a_source_as_messages_do) {
    json p = copying_plan({{"engine", "planted"}}, {{"source", {{"bytes", 1 << 16}, {"order", "hot"}}}});
    EXPECT_EQ(copying_rig(p).told_of_cpu()["from_bytes"], 1024);
    p["workloads"][0]["request_bytes"] = 40;  // a body of 24
    const json told = copying_rig(p).told_of_cpu();
    EXPECT_EQ(told["from_bytes"], 64);
    EXPECT_EQ(told["costs"].size(), 1u);
    EXPECT_EQ(told["costs"][0]["bytes"], 24);
}

TEST(copiers, applications_of_both_sides_have_skeletons_of_their_own) {
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

}  // namespace
}  // namespace wt::test::copiers_test
