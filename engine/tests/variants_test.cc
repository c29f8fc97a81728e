// Variants: delays around stages, and what a change writes into the roles while packets are under way. Starts
// EAL on ordinary memory: no root, no hugepages.
#include "run/variants.h"

#include <chrono>
#include <thread>

#include "stages_rig.h"

namespace wt::test::variants_test {
namespace {

const needs_eal eal(64);

// Variants of the plan of the rig: the first as it is, then these.
json with_variants(const std::vector<json> &changed) {
    json plan = rig_plan();
    const json first = {{"name", "as it is"}};
    json list = json::array({first});
    for (const json &change : changed) list.push_back(change);
    for (size_t i = 0; i < list.size(); i++) {
        json whole = {{"name", std::to_string(i)},
                      {"delays", json::array()},
                      {"batch", json::object()},
                      {"inflight", nullptr}};
        whole.update(list[i]);
        list[i] = whole;
    }
    plan["variants"] = {{"settle_ns", 0}, {"variants", list}, {"order", {0}}};
    return plan;
}

json delayed_by(const char *endpoint, const char *stage, double ns) {
    return {{"delays", {{{"endpoint", endpoint}, {"stage", stage}, {"ns", ns}}}}};
}

json all_batches(int size) {
    json of_side = json::object();
    for (const char *stage : {"app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx"})
        of_side[stage] = size;
    json of_server = of_side;
    of_server.erase("app_tx");
    return {{"batch", {{"client", of_side}, {"server", of_server}}}};
}

// Moves as many objects as it is told.
struct moving {
    call_result result;
    std::atomic<uint32_t> calls = 0;
};

call_result move(void *role, const stage_call &) {
    auto &m = *static_cast<moving *>(role);
    m.calls++;
    return m.result;
}

constexpr uint64_t one_tick = uint64_t{1} << delay_fraction_bits;

struct delayed_stage {
    moving inner{{8}};
    delay d{move, &inner, 30};
    stage_stats stats{};

    call_result run(uint32_t objects, stalled_for stalled = not_stalled) {
        inner.result = {objects, stalled};
        return delayed(&d, {&stats, 0});
    }
};

TEST(delay, counts_objects_times_ticks_and_waits_for_them) {
    delayed_stage s;
    s.d.ticks = 50 * one_tick;
    const uint64_t start = now();
    uint64_t objects = 0;
    for (uint32_t n = 0; n <= 64; n++) {
        EXPECT_EQ(s.run(n).objects, n);
        objects += n;
    }
    EXPECT_EQ(s.stats.delay_cycles, 50 * objects);
    EXPECT_EQ(s.inner.calls, 65u);
    EXPECT_LE(s.d.debt, 0);
    // what a wait is credited with beyond the clock is one stamp
    EXPECT_GE(now() - start + 65 * static_cast<uint64_t>(s.d.stamp), 50 * objects);
}

TEST(delay, adds_nothing_to_calls_that_move_nothing) {
    delayed_stage s;
    s.d.ticks = 1'000 * one_tick;
    EXPECT_FALSE(s.run(0).stalled);
    EXPECT_EQ(s.run(0, for_ring).stalled, for_ring);
    EXPECT_EQ(s.stats.delay_cycles, 0u);
    EXPECT_EQ(s.d.debt, 0);
}

TEST(delay, parts_of_a_tick_add_up) {
    delayed_stage s;
    s.d.ticks = one_tick / 4;
    for (int i = 0; i < 1'000; i++) s.run(3);
    EXPECT_EQ(s.stats.delay_cycles, 750u);
}

TEST(delay, what_is_shorter_than_a_stamp_waits_for_the_next_call) {
    delayed_stage s;
    s.d.ticks = 10 * one_tick;
    s.run(1), s.run(1);
    EXPECT_EQ(s.d.debt, 20);
    s.run(1);
    EXPECT_LE(s.d.debt, 0);
    EXPECT_EQ(s.stats.delay_cycles, 30u);
}

// The clock jumps during the wait, as it does for a worker that had no CPU meanwhile.
TEST(delay, a_long_interruption_is_no_advance_on_the_next_waits) {
    constexpr uint64_t jump = 1'000'000'000'000;
    delayed_stage s;
    s.d.ticks = one_tick;
    // again where this thread had no CPU, and the jump came before the wait or behind it
    for (int trial = 0; trial < 50 && s.d.debt != -1'000; trial++) {
        s.d.debt = jump / 10'000;
        s.inner.calls = 0;
        std::thread host([&s] {
            while (s.inner.calls == 0) std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            hold_clock(-jump);
        });
        s.run(1);
        host.join();
        hold_clock(jump);
    }
    EXPECT_EQ(s.d.debt, -1'000);
}

TEST(variants, only_the_stages_that_one_delays_have_a_delay) {
    rig r(with_variants({delayed_by("server", "app_rx", 500), delayed_by("client", "app_tx", 0)}));
    for_each_stage(r.f, [&](stage &s, size_t, size_t) {
        const bool is = s.place.endpoint == server && s.place.stage == app_rx;
        EXPECT_EQ(s.run == delayed, is);
    });
    EXPECT_EQ(r.f.delays.size(), 1u);
}

TEST(variants, without_a_delay_every_stage_is_its_own) {
    rig r(with_variants({all_batches(64)}));
    EXPECT_TRUE(r.f.delays.empty());
}

TEST(variants, a_delay_is_of_its_variant_alone) {
    rig r(with_variants({delayed_by("server", "app_rx", 100)}));
    r.loops(20);
    EXPECT_EQ(r.stats(server, app_rx).delay_cycles, 0u);
    apply_variant(r.f, 1);
    const uint64_t before = r.stats(client, app_rx).responses;
    r.loops(20);
    const uint64_t delayed_objects = r.stats(client, app_rx).responses - before;
    EXPECT_GT(delayed_objects, 100u);
    // the rig's clock has a tick a ns; a burst may be between the stages
    EXPECT_GE(r.stats(server, app_rx).delay_cycles, 100 * (delayed_objects - 64));
    const uint64_t delay_so_far = r.stats(server, app_rx).delay_cycles;
    EXPECT_EQ(delay_so_far % 100, 0u);
    apply_variant(r.f, 0);
    r.loops(20);
    EXPECT_EQ(r.stats(server, app_rx).delay_cycles, delay_so_far);
    r.f.signals.sending = false;
    r.loops(10);
}

// The ledgers close in the rig's end.
TEST(variants, batches_change_with_packets_under_way) {
    json many = all_batches(64);
    many["inflight"] = 200;
    rig r(with_variants({many, all_batches(1)}));
    for (int i = 0; i < 30; i++) {
        apply_variant(r.f, static_cast<uint32_t>(i % 3));
        const uint32_t most = i % 3 == 0 ? 32 : i % 3 == 1 ? 64 : 1;
        EXPECT_EQ(r.app(client).batch_tx, most);
        EXPECT_EQ(r.app(server).batch_rx, most);
        EXPECT_EQ(r.disp(server).nic.batch_rx, most);
        for (int loop = 0; loop < 7; loop++)
            for (worker &w : r.f.workers)
                for (stage &s : w.stages) EXPECT_LE(s.run(s.role, {s.current, 0}).objects, most);
    }
    EXPECT_GT(r.stats(client, app_rx).responses, 1'000u);
    r.f.signals.sending = false;
    apply_variant(r.f, 0);
    r.loops(50);
    EXPECT_EQ(r.stats(client, app_rx).responses, r.stats(client, app_tx).sent);
}

TEST(variants, a_smaller_budget_waits_until_fewer_are_in_flight) {
    rig r(with_variants({{{"inflight", 1}}, {{"inflight", 100}}}));
    inflight_table &table = *r.app(client).inflight;
    EXPECT_EQ(table.slots.size(), 100u);
    for (int i = 0; i < 3; i++) r.run(client, app_tx);
    EXPECT_EQ(inflight_count(table), 32u);  // the plan's budget, not the largest
    apply_variant(r.f, 2);
    for (int i = 0; i < 10; i++) r.loop(client);
    EXPECT_EQ(inflight_count(table), 100u);
    apply_variant(r.f, 1);
    const uint64_t sent = r.stats(client, app_tx).sent;
    for (int i = 0; i < 20 && inflight_count(table) > 1; i++) {
        EXPECT_EQ(r.stats(client, app_tx).sent, sent);
        r.loops(1);
    }
    for (int i = 0; i < 20; i++) {
        r.loops(1);
        EXPECT_LE(inflight_count(table), 1u);
    }
    EXPECT_GT(r.stats(client, app_tx).sent, sent);
    apply_variant(r.f, 0);
    r.loops(20);
    r.f.signals.sending = false;
    r.loops(20);
    EXPECT_EQ(r.stats(client, app_rx).responses, r.stats(client, app_tx).sent);
    EXPECT_EQ(table.free.used(), 100u);
}

TEST(variants, the_order_begins_anew_after_its_end) {
    const plan p = read_plan(valid_plan().dump());
    std::vector<uint32_t> seen;
    for (uint64_t n = 0; n < 7; n++) seen.push_back(variant_of_window(p, n));
    EXPECT_EQ(seen, (std::vector<uint32_t>{0, 1, 1, 0, 1, 1, 0}));
}

TEST(variants, buffers_have_room_for_the_largest) {
    const plan p = read_plan(valid_plan().dump());
    EXPECT_EQ(largest_batch(p, p.endpoints[0]).app_tx, 64);  // of the other variant
    EXPECT_EQ(largest_batch(p, p.endpoints[0]).disp_tx, 2);  // of the plan
    EXPECT_EQ(largest_batch(p, p.endpoints[1]).nic_rx, 8);
    EXPECT_EQ(largest_batch(p, p.endpoints[1]).app_rx, 1024);
    EXPECT_EQ(largest_inflight(p, p.endpoints[0], 0), 32u);
}

// A budget of 256 is 64 and 192 for applications of 32 and 96; one of 8 is less than the plan's.
TEST(variants, applications_have_their_parts_of_the_budget) {
    json two = valid_plan();
    two["endpoints"][0]["applications"].push_back(two["endpoints"][0]["applications"][0]);
    two["endpoints"][0]["applications"][1]["inflight"] = 96;
    for (const auto &[budget, first, second] : {std::tuple{256, 64u, 192u}, {8, 32u, 96u}}) {
        two["variants"]["variants"][1]["inflight"] = budget;
        const plan p = read_plan(two.dump());
        EXPECT_EQ(largest_inflight(p, p.endpoints[0], 0), first);
        EXPECT_EQ(largest_inflight(p, p.endpoints[0], 1), second);
    }
}

}  // namespace
}  // namespace wt::test::variants_test
