// The file that a trace ends in: whole events, a limit, and a disk that is full.
#include "run/tracer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "test_tools.h"

namespace wt::test::tracer_test {
namespace {

struct Tracer : testing::Test {
    std::vector<trace_event> events_in_file() const {
        std::ifstream file(plan.path, std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(file), {}};
        EXPECT_EQ((bytes.size() - sizeof(trace_header)) % sizeof(trace_event), 0u);
        std::vector<trace_event> events((bytes.size() - sizeof(trace_header)) / sizeof(trace_event));
        std::memcpy(events.data(), bytes.data() + sizeof(trace_header), events.size() * sizeof(trace_event));
        trace_header header;
        std::memcpy(static_cast<void *>(&header), bytes.data(), sizeof header);
        EXPECT_EQ(std::memcmp(header.magic, "WTTRACE1", 8), 0);
        EXPECT_EQ(header.start_tsc, 11u);
        EXPECT_EQ(header.ns_per_tick, 0.5);
        return events;
    }

    // A loop of `count` events, the first of which starts at `start`.
    static void hand_over(worker_trace &t, uint64_t start, uint32_t count) {
        for (uint32_t i = 0; i < count; i++)
            t.loop[i] = {start + i, start + i + 1, 32, 0, t.worker, static_cast<uint16_t>(i)};
        trace_hand_over(t, count);
    }

    test::temporary_directory directory;
    trace_plan plan = {directory / "trace.bin", 7, 1000};
    std::vector<worker_plan> workers{{1, 0, {{0, stage_kind::app_tx, 0}, {0, stage_kind::disp_tx, 0}}},
                                     {2, 1, {{}}}};
};

TEST_F(Tracer, EveryWorkersEventsReachTheFile) {
    tracer t(plan, workers, 11, 0.5);
    EXPECT_EQ(t.of(0)->every, 7u);
    hand_over(*t.of(0), 100, 3);
    t.drain();
    hand_over(*t.of(1), 200, 2);
    const traced done = t.close();
    EXPECT_EQ(done.events, 5u);
    EXPECT_EQ(done.missed, 0u);
    EXPECT_FALSE(done.fault);
    const auto events = events_in_file();
    ASSERT_EQ(events.size(), 5u);
    EXPECT_EQ(events[2].start, 102u);
    EXPECT_EQ(events[3].worker, 1);
    EXPECT_EQ(events[3].objects, 32u);
}

TEST_F(Tracer, EventsBeyondTheLimitAreOnlyCounted) {
    plan.limit_events = 4;
    tracer t(plan, workers, 11, 0.5);
    for (int i = 0; i < 3; i++) hand_over(*t.of(0), 100, 3);
    const traced done = t.close();
    EXPECT_EQ(done.events, 4u);
    EXPECT_EQ(done.missed, 5u);
    EXPECT_EQ(events_in_file().size(), 4u);
}

TEST_F(Tracer, EventsWithoutRoomInTheRingAreCounted) {
    plan.limit_events = 1 << 20;
    tracer t(plan, workers, 11, 0.5);
    for (uint32_t i = 0; i < trace_room / 2; i++) hand_over(*t.of(0), 100, 3);
    const traced done = t.close();
    EXPECT_EQ(done.events + done.missed, trace_room / 2 * 3);
    EXPECT_GT(done.missed, 0u);
    EXPECT_EQ(done.events % 3, 0u);  // loops are whole or missing
}

TEST_F(Tracer, AFullDiskEndsTheFileAndNotTheRun) {
    tracer t(plan, workers, 11, 0.5);
    hand_over(*t.of(0), 100, 3);
    t.drain();
    const traced done = [&] {
        const test::full_disk disk(sizeof(trace_header) + 100);
        hand_over(*t.of(0), 200, 3);
        t.drain();
        hand_over(*t.of(0), 300, 3);
        return t.close();
    }();
    EXPECT_EQ(done.events, 3u);
    EXPECT_EQ(done.missed, 6u);
    ASSERT_TRUE(done.fault);
    EXPECT_EQ(*done.fault, "File too large");
    EXPECT_EQ(events_in_file().size(), 3u);
}

TEST_F(Tracer, NothingIsOverwritten) {
    std::ofstream(plan.path) << "precious";
    EXPECT_THROW(tracer(plan, workers, 11, 0.5), refusal);
    std::string kept;
    std::ifstream(plan.path) >> kept;
    EXPECT_EQ(kept, "precious");
}

}  // namespace
}  // namespace wt::test::tracer_test
