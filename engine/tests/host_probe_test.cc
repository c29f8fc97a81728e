// The probe of the host's state: workers that meet, or do not (also under ThreadSanitizer).
#include "core/host_probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "core/clock.h"
#include "core/speed.h"

namespace wt::test::host_probe_test {
namespace {

constexpr uint64_t patient = 300'000'000'000, hasty = 30'000'000;  // ticks: minutes, and some 10 ms

void join_all(host_probe &probe, uint32_t workers) {
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < workers; i++) threads.emplace_back([&probe, i] { probe.join(i); });
    for (std::thread &thread : threads) thread.join();
}

TEST(HostProbe, MeasuresEachPairAndEachWorker) {
    host_probe probe;
    probe.open(3, {{0, 1, 0}, {1, 2, 1}}, {}, patient);
    for (int i = 0; i < 5; i++) {
        probe.ask();
        join_all(probe, 3);
        const probe_reading &r = probe.reading();
        ASSERT_TRUE(r.complete);
        EXPECT_TRUE(std::ranges::all_of(r.round_trip, [](double ticks) { return ticks > 0; }));
        EXPECT_TRUE(std::ranges::all_of(r.alone, [](double ticks) { return ticks > speed_wide_rounds / 2; }));
        EXPECT_TRUE(
            std::ranges::all_of(r.together, [](double ticks) { return ticks > speed_wide_rounds / 2; }));
    }
}

TEST(HostProbe, PairsOfARoundSendAtTheSameTime) {
    host_probe probe;
    probe.open(4, {{0, 2, 0}, {1, 3, 0}, {0, 3, 1}}, {}, patient);
    EXPECT_EQ(probe.steps(), 2 + 4u);
    probe.ask();
    join_all(probe, 4);
    ASSERT_TRUE(probe.reading().complete);
    EXPECT_TRUE(std::ranges::all_of(probe.reading().round_trip, [](double ticks) { return ticks > 0; }));
}

// Neither rounds nor turns grow with the workers.
TEST(HostProbe, ManyWorkersShareTurns) {
    constexpr uint32_t clients = 64;
    host_probe probe;
    std::vector<probe_pair> pairs;
    for (uint32_t i = 0; i < clients; i++) pairs.push_back({i, clients + i, 0});
    probe.open(2 * clients, pairs, {}, patient);
    EXPECT_EQ(probe.steps(), 1 + probe_most_turns);
    std::vector<uint32_t> workers(probe_most_turns);
    for (uint32_t w = 0; w < 2 * clients; w++) workers[probe.turn_of(w)]++;
    for (const uint32_t in_turn : workers) EXPECT_EQ(in_turn, 2 * clients / probe_most_turns);
    for (const probe_pair &pair : pairs) EXPECT_NE(probe.turn_of(pair.a), probe.turn_of(pair.b));
}

TEST(HostProbe, TimeStandsStillMeanwhile) {
    host_probe probe;
    probe.open(2, {{0, 1, 0}}, {}, patient);
    const uint64_t before = held_ticks;
    probe.ask();
    join_all(probe, 2);
    EXPECT_GT(probe.reading().held_ticks, 0u);
    EXPECT_EQ(held_ticks, before + probe.reading().held_ticks);
}

TEST(HostProbe, OneWorkerNeedsNobody) {
    host_probe probe;
    probe.open(1, {}, {}, patient);
    probe.ask();
    probe.join(0);
    EXPECT_TRUE(probe.reading().complete);
    EXPECT_TRUE(probe.reading().round_trip.empty());
}

// Ticks of an errand's own account, or none.
bool errand_of(void *of, uint64_t, double &ticks) {
    ticks = *static_cast<double *>(of);
    return ticks > 0;
}

TEST(HostProbe, RunsErrandsOfTheirWorkers) {
    host_probe probe;
    double near = 100, far = 900;
    probe.open(2, {{0, 1, 0}}, {{1, &far, errand_of}, {0, &near, errand_of}}, patient);
    probe.ask();
    join_all(probe, 2);
    ASSERT_TRUE(probe.reading().complete);
    EXPECT_EQ(probe.reading().errands, (std::vector<double>{900, 100}));
}

TEST(HostProbe, AnErrandWithoutAReadingCutsItShort) {
    host_probe probe;
    double none = 0;
    probe.open(2, {{0, 1, 0}}, {{1, &none, errand_of}}, hasty);
    const uint64_t before = held_ticks;
    probe.ask();
    join_all(probe, 2);
    EXPECT_FALSE(probe.reading().complete);
    EXPECT_EQ(held_ticks, before);
}

// Who comes too late finds the probe over, holds no clock and waits for nobody.
TEST(HostProbe, AWorkerThatDoesNotComeCutsItShort) {
    host_probe probe;
    probe.open(2, {{0, 1, 0}}, {}, hasty);
    const uint64_t before = held_ticks;
    for (int i = 0; i < 3; i++) {
        probe.ask();
        probe.join(0);
        probe.join(1);
        EXPECT_FALSE(probe.reading().complete);
    }
    EXPECT_EQ(held_ticks, before);
    probe.ask();
}

// The next probe is a new one.
TEST(HostProbe, OneCutShortIsFollowedByAWholeOne) {
    host_probe probe;
    probe.open(2, {{0, 1, 0}}, {}, patient);
    probe.ask();
    join_all(probe, 2);
    EXPECT_TRUE(probe.reading().complete);
    probe.ask();
    EXPECT_FALSE(probe.reading().complete);
}

// A worker that leaves in the middle, as one that lost its CPU for longer than the patience: nobody is left
// waiting.
TEST(HostProbe, NobodyIsLeftWaiting) {
    for (int i = 0; i < 50; i++) {
        host_probe probe;
        probe.open(2, {{0, 1, 0}}, {}, hasty / 100 * static_cast<uint64_t>(i % 3));
        const uint64_t before = held_ticks;
        probe.ask();
        join_all(probe, 2);
        EXPECT_EQ(held_ticks - before, probe.reading().complete ? probe.reading().held_ticks : 0);
    }
}

}  // namespace
}  // namespace wt::test::host_probe_test
