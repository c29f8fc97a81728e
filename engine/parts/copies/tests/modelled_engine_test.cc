// What an engine that is given as figures costs and when its copies end, and the clock that stands still for
// it. Starts no EAL.
#include "parts/copies/copiers/modelled_engine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "core/clock.h"
#include "core/refusal.h"
#include "parts/copies/copiers/registry.h"

namespace wt::test::modelled_engine_test {
namespace {

// A tick is a nanosecond: 10 for a submit, 5 a copy, 2 for a poll, 3 for an end; 100 ns and 2 bytes/ns.
modelled_engine_plan numbers() {
    modelled_engine_plan p{};
    p.name = "test";
    p.burst_ns = 10;
    p.copy_ns = {{1, 5}};
    p.poll_ns = 2;
    p.end_ns = 3;
    p.device = modelled_device_plan{
        .latency_ns = 100, .bytes_per_ns = {{1, 2}}, .at_once = 1, .queue = 64, .reports_bursts = false};
    return p;
}

modelled_engine_plan of_the_cpu() {
    modelled_engine_plan p = numbers();
    p.copy_ns = {{100, 20}, {10'000, 2'000}};
    p.device.reset();
    return p;
}

std::vector<copy_piece> pieces(const std::vector<uint32_t> &sizes) {
    std::vector<copy_piece> list;
    for (const uint32_t bytes : sizes) list.push_back({nullptr, nullptr, bytes});
    return list;
}

void start(modelled_engine &engine, const std::vector<uint32_t> &sizes, uint64_t at) {
    engine.start(pieces(sizes).data(), static_cast<uint32_t>(sizes.size()), at);
}

// The times of the ends, in their order, of all copies.
std::vector<uint64_t> ends(modelled_engine &engine, uint64_t until) {
    std::vector<uint64_t> times;
    for (uint64_t at = 0; at <= until; at++)
        for (uint32_t left = engine.take_ended(100, at); left > 0; left--) times.push_back(at);
    return times;
}

TEST(size_curve, is_straight_on_logarithmic_axes_and_level_beyond_its_points) {
    const size_curve curve({{100, 10}, {10'000, 1'000}, {20'000, 500}}, 2);
    for (const auto &[bytes, value] : {std::pair{1u, 20.},
                                       {100u, 20.},
                                       {1'000u, 200.},
                                       {10'000u, 2'000.},
                                       {20'000u, 1'000.},
                                       {4'000'000u, 1'000.}})
        EXPECT_NEAR(curve.at(bytes), value, value * 1e-9) << bytes;
    EXPECT_NEAR(curve.at(14'142), 1'414.2, 0.1);
    EXPECT_EQ(size_curve({{64, 0}}, 3).at(1'000), 0);
}

TEST(modelled_engine, costs_the_worker_a_burst_and_each_copy_and_each_poll) {
    modelled_engine engine(numbers(), 2.5, 64);  // ticks a ns
    EXPECT_EQ(engine.burst_cost(), 25u);
    uint64_t sum = 0;
    for (int i = 0; i < 1'000; i++) sum += engine.copy_cost(64);
    EXPECT_EQ(sum, 12'500u);  // 12.5 each: halves of a tick are not lost
    EXPECT_EQ(engine.poll_cost(0), 5u);
    EXPECT_EQ(engine.poll_cost(4), 35u);
    modelled_engine cpu(of_the_cpu(), 1, 64);
    EXPECT_NEAR(static_cast<double>(cpu.copy_cost(1'000)), 200, 1);
}

TEST(modelled_engine, ends_a_copy_after_its_bytes_and_the_latency) {
    modelled_engine engine(numbers(), 1, 64);
    start(engine, {400}, 1'000);
    EXPECT_EQ(engine.take_ended(64, 1'299), 0u);
    EXPECT_EQ(engine.take_ended(64, 1'300), 1u);
    EXPECT_EQ(engine.take_ended(64, 5'000), 0u);
}

TEST(modelled_engine, works_on_one_copy_after_the_other_and_hides_the_latency) {
    modelled_engine engine(numbers(), 1, 64);
    start(engine, {200, 200, 200}, 0);
    start(engine, {200}, 0);      // while three are there
    start(engine, {200}, 5'000);  // after a rest
    EXPECT_EQ(ends(engine, 6'000), (std::vector<uint64_t>{200, 300, 400, 500, 5'200}));
}

TEST(modelled_engine, works_on_several_at_once_and_reports_them_in_order) {
    modelled_engine_plan p = numbers();
    p.device->at_once = 2;
    modelled_engine engine(p, 1, 64);
    start(engine, {2'000, 200, 200, 200}, 0);  // the first takes 1000, the others 100 each
    EXPECT_EQ(ends(engine, 2'000), (std::vector<uint64_t>{1'100, 1'100, 1'100, 1'100}));
    start(engine, {200, 2'000}, 3'000);
    EXPECT_EQ(ends(engine, 5'000), (std::vector<uint64_t>{3'200, 4'100}));
}

TEST(modelled_engine, may_report_a_burst_with_its_last_copy) {
    modelled_engine_plan p = numbers();
    p.device->reports_bursts = true;
    modelled_engine engine(p, 1, 64);
    start(engine, {200, 200}, 0);
    start(engine, {200}, 0);
    EXPECT_EQ(ends(engine, 1'000), (std::vector<uint64_t>{300, 300, 400}));
}

TEST(modelled_engine, has_room_for_its_queue_or_the_depth) {
    modelled_engine engine(numbers(), 1, 3);
    EXPECT_EQ(engine.room(2), 2u);
    EXPECT_EQ(engine.room(9), 3u);
    start(engine, {200, 200}, 0);
    EXPECT_EQ(engine.room(9), 1u);
    EXPECT_EQ(engine.take_ended(1, 10'000), 1u);  // ended and not reported: still in the queue
    EXPECT_EQ(engine.room(9), 2u);
    modelled_engine_plan p = numbers();
    p.device->queue = 2;
    EXPECT_EQ(modelled_engine(p, 1, 64).room(9), 2u);
}

TEST(modelled_engine, without_a_device_ends_copies_with_their_submit) {
    modelled_engine engine(of_the_cpu(), 1, 64);
    EXPECT_TRUE(engine.immediate());
    start(engine, {100, 100}, 500);
    EXPECT_EQ(engine.take_ended(64, 500), 2u);
    EXPECT_FALSE(modelled_engine(numbers(), 1, 64).immediate());
}

// Whatever is asked: as many ends as copies, none before its latency and its bytes, and never more at once
// than the queue.
TEST(modelled_engine, conserves_copies) {
    uint64_t state = 7;
    const auto draw = [&](uint64_t below) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<uint32_t>((state >> 33) % below);
    };
    for (const uint32_t at_once : {1u, 3u}) {
        modelled_engine_plan p = numbers();
        p.device->at_once = at_once;
        modelled_engine engine(p, 1.3, 40);
        uint64_t now = 0, started = 0, ended = 0;
        std::vector<uint64_t> earliest;
        for (int i = 0; i < 20'000; i++) {
            now += draw(2'000);
            std::vector<uint32_t> sizes(engine.room(draw(20)));
            for (uint32_t &bytes : sizes) bytes = 1 + draw(5'000);
            start(engine, sizes, now);
            for (const uint32_t bytes : sizes)
                earliest.push_back(now + static_cast<uint64_t>(1.3 * (100 + bytes / 2.0)) - 2);
            started += sizes.size();
            for (uint32_t left = engine.take_ended(1 + draw(30), now); left > 0; left--, ended++)
                ASSERT_LE(earliest[ended], now);
            ASSERT_LE(started - ended, 40u);
        }
        EXPECT_EQ(ended + engine.take_ended(1'000, UINT64_MAX), started);
        EXPECT_GT(started, 5'000u);
    }
}

// The run's time rises by exactly what is asked, whether the work took longer or not.
TEST(modelled_engine, the_clock_rises_by_what_is_asked) {
    const uint64_t held = held_ticks;
    std::vector<uint8_t> from(1 << 20, 1), to(1 << 20);
    for (const uint64_t ticks : {uint64_t{0}, uint64_t{10}, uint64_t{50'000'000}}) {
        const uint64_t since = rte_rdtsc(), run_since = since - held_ticks;
        std::memcpy(to.data(), from.data(), from.size());
        const uint64_t until = take_exactly(ticks, since);
        EXPECT_EQ(until - held_ticks, run_since + ticks);
        EXPECT_GE(now(), run_since + ticks);
    }
    EXPECT_GE(held_ticks, held);
}

// A channel moves the bytes, and the run's time rises by the figures alone between the reads of the clock in
// it: real time is that plus what was held.
TEST(model, moves_bytes_in_the_time_of_its_numbers) {
    modelled_engine_plan p = numbers();
    p.burst_ns = 1'000;
    p.copy_ns = {{1, 500}};
    copy_channel c = open_copier("model", {.depth = 8, .ticks_per_ns = 1, .model = &p});
    EXPECT_EQ(c.kind, copier_kind::modelled);
    EXPECT_STREQ(copier_kind_names[static_cast<int>(c.kind)], "modelled");
    EXPECT_EQ(c.device, "test");
    EXPECT_FALSE(c.immediate);
    constexpr uint32_t bytes = 1 << 20;
    std::vector<uint8_t> from(8 * bytes), to(8 * bytes);
    std::iota(from.begin(), from.end(), uint8_t{0});
    std::vector<copy_piece> list;
    for (uint32_t i = 0; i < 8; i++) list.push_back({to.data() + i * bytes, from.data() + i * bytes, bytes});

    const uint64_t held = held_ticks, real = rte_rdtsc(), run = now();
    EXPECT_EQ(c.submit(c.state, list.data(), 8), 8u);
    const uint64_t run_took = now() - run, real_took = rte_rdtsc() - real;
    EXPECT_EQ(to, from);
    EXPECT_GE(run_took, 1'000u + 8 * 500);
    EXPECT_LE(held_ticks - held, real_took - (1'000 + 8 * 500));
    EXPECT_LE(run_took, real_took);

    copy_end how[8];
    uint32_t found = 0;
    while (found < 8) found += c.completed(c.state, how, 8);
    EXPECT_GE(now() - run, 8u * bytes / 2);
    EXPECT_EQ(how[0], copy_end::well);
    c.close(c.state);
}

TEST(model, has_no_room_beyond_its_queue) {
    modelled_engine_plan p = numbers();
    p.device->latency_ns = 1e15;
    copy_channel c = open_copier("model", {.depth = 2, .ticks_per_ns = 1, .model = &p});
    uint8_t from[64] = {1}, to[3][64] = {};
    const copy_piece list[] = {{to[0], from, 64}, {to[1], from, 64}, {to[2], from, 64}};
    copy_end how[3];
    EXPECT_EQ(c.submit(c.state, list, 3), 2u);
    EXPECT_EQ(to[1][0], 1);
    EXPECT_EQ(to[2][0], 0);
    EXPECT_EQ(c.submit(c.state, list + 2, 1), 0u);
    EXPECT_EQ(c.completed(c.state, how, 3), 0u);
    c.close(c.state);
}

TEST(model, wants_numbers) { EXPECT_THROW(open_copier("model", {.depth = 8, .ticks_per_ns = 1}), refusal); }

}  // namespace
}  // namespace wt::test::modelled_engine_test
