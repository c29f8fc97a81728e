// The loop around stages: what is counted at each level, windows that tear nothing, and the stop (also under
// ThreadSanitizer).
#include "core/worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <thread>

namespace wt::test::worker_test {
namespace {

constexpr stalled_for wants[] = {for_mbufs, for_ring, for_port,
#define WT_X(name) for_##name,
                                 WT_STALLS_OF_PARTS(WT_X)
#undef WT_X
};

// A stage that moves 0, 1, 2, ... objects in turn and is stalled on every tenth call, for want of each in
// turn.
struct busy_role {
    uint64_t calls = 0, objects = 0, stalled[std::size(wants) + 1] = {};
};

// Of first stages, for the thread that waits for them.
std::atomic<uint64_t> calls_made;

call_result busy(void *role, const stage_call &call) {
    calls_made.fetch_add(1, std::memory_order_relaxed);
    auto &r = *static_cast<busy_role *>(role);
    if (r.calls++ % 10 == 9) {
        const auto want = wants[r.calls / 10 % std::size(wants)];
        return r.stalled[want]++, call_result{0, want};
    }
    const uint32_t n = static_cast<uint32_t>(r.calls % 4);
    r.objects += n;
    call.stats->packets += n;
    return {n};
}

struct bench_of_two {
    run_signals signals;
    busy_role roles[2];
    worker w;

    explicit bench_of_two(accounting level, uint64_t interrupted_above = UINT64_MAX) {
        w.level = level;
        w.sample_every = 7;
        w.interrupted_above = interrupted_above;
        w.signals = &signals;
        for (busy_role &role : roles) {
            stage &s = w.stages.emplace_back();
            s.run = busy;
            s.role = &role;
            s.stats = std::make_unique<stage_stats[]>(2);
            for (int i : {0, 1}) {
                if (level == accounting::histograms) {
                    s.stats[i].completion = std::make_unique<batch_histogram>();
                    s.stats[i].stall = std::make_unique<batch_histogram>();
                }
                s.stats[i].clear();
            }
            s.current = &s.stats[0];
        }
    }

    // Runs the worker until its stages have been called often.
    void run_often() {
        calls_made = 0;
        std::thread thread(worker_main, &w);
        while (calls_made.load(std::memory_order_relaxed) < 5000) std::this_thread::yield();
        signals.stop.store(true);
        thread.join();
    }

    stage_stats &stats(uint32_t epoch, size_t stage = 0) { return w.stages[stage].stats[epoch & 1]; }

    // Closes a window as main does, and waits until the worker has left it.
    void next_window(uint32_t epoch) {
        signals.epoch.store(epoch, std::memory_order_release);
        while (w.epoch_seen.load(std::memory_order_acquire) != epoch) std::this_thread::yield();
    }
};

uint64_t calls_of(const stage_stats &s) {
    return std::accumulate(std::begin(s.burst), std::end(s.burst), uint64_t{0});
}

uint64_t objects_of(const stage_stats &s) {
    uint64_t sum = 0;
    for (uint32_t n = 0; n <= max_batch; n++) sum += n * s.burst[n];
    return sum;
}

class worker_levels : public testing::TestWithParam<accounting> {};

// Windows follow each other without losing or doubling a count.
TEST_P(worker_levels, windows_add_up_to_the_totals) {
    bench_of_two b(GetParam());
    std::thread thread(worker_main, &b.w);
    uint64_t calls = 0, objects = 0, packets = 0, loops = 0;
    stage_counters counted{};
    const auto collect = [&](uint32_t epoch) {
        stage_stats &s = b.stats(epoch);
        calls += calls_of(s);
        objects += objects_of(s);
        counted += s;
        packets += s.packets;
        loops += b.w.stats[epoch & 1].loops;
        s.clear();
        b.stats(epoch, 1).clear();
        b.w.stats[epoch & 1] = {};
    };
    for (uint32_t epoch = 1; epoch <= 50; epoch++) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        b.next_window(epoch);
        collect(epoch - 1);
    }
    b.signals.stop.store(true);
    thread.join();
    collect(50);

    EXPECT_TRUE(b.w.done.load());
    EXPECT_GT(b.roles[0].calls, 0u);
    EXPECT_EQ(loops, b.roles[0].calls);
    EXPECT_EQ(packets, b.roles[0].objects);
    const bool counts = GetParam() != accounting::off;
    EXPECT_EQ(calls, counts ? b.roles[0].calls : 0);
    EXPECT_EQ(objects, counts ? b.roles[0].objects : 0);
    const auto &stalled = b.roles[0].stalled;
    EXPECT_EQ(counted.stalled_for_mbufs, counts ? stalled[for_mbufs] : 0);
    EXPECT_EQ(counted.stalled_for_ring, counts ? stalled[for_ring] : 0);
    EXPECT_EQ(counted.stalled_for_port, counts ? stalled[for_port] : 0);
#define WT_X(name) EXPECT_EQ(counted.stalled_for_##name, counts ? stalled[for_##name] : 0);
    WT_STALLS_OF_PARTS(WT_X)
#undef WT_X
}

call_result moves_three(void *, const stage_call &) { return {3}; }

// Of calls that moved something alone: by these sums a call's cost is split into a part a call and a part an
// object.
TEST_P(worker_levels, sums_objects_and_cycles_of_timed_work) {
    bench_of_two b(GetParam());
    b.w.stages[1].run = moves_three;
    b.run_often();
    const stage_stats &three = b.stats(0, 1), &varied = b.stats(0);
    EXPECT_EQ(three.timed_work_calls, three.timed_calls);
    EXPECT_EQ(three.timed_objects_squared, 9 * three.timed_calls);
    EXPECT_EQ(three.timed_objects_cycles, 3 * three.busy_cycles);
    EXPECT_EQ(varied.timed_work_calls > 0, GetParam() >= accounting::sampled);
    EXPECT_LT(varied.timed_work_calls, varied.timed_calls + (GetParam() < accounting::sampled));
    if (GetParam() < accounting::cycles) return;
    EXPECT_EQ(varied.timed_work_calls, calls_of(varied) - varied.burst[0]);
    EXPECT_EQ(varied.timed_objects_squared, varied.burst[1] + 4 * varied.burst[2] + 9 * varied.burst[3]);
    EXPECT_GT(varied.timed_objects_cycles, varied.busy_cycles - varied.stall_cycles);
}

// A handler of two steps, the first of which makes traffic: a thousandth of a call's ticks each, by its own
// word.
struct stepping_role {
    handler_steps steps;
    uint64_t timed = 0;
};

call_result stepping(void *role, const stage_call &) {
    calls_made.fetch_add(1, std::memory_order_relaxed);
    auto &r = *static_cast<stepping_role *>(role);
    if (wt_step *const steps = r.steps.now) {
        steps[0] = {7, 1, 1};
        steps[1] = {3, 2, 1};
        r.timed++;
    }
    return {1};
}

struct steps_of_a_run {
    stepping_role role;
    step_counters taken;
    uint64_t traffic, timed, interrupted;
};

// Runs a stage with steps at a level for a while.
steps_of_a_run run_steps(accounting level, uint64_t interrupted_above) {
    bench_of_two b(level, interrupted_above);
    steps_of_a_run run{};
    run.role.steps.names = {{"traffic", true}, {"work", false}};
    stage &s = b.w.stages[0];
    s.run = stepping;
    s.role = &run.role;
    if (level >= accounting::sampled) {
        s.steps = &run.role.steps;
        for (int i : {0, 1}) s.stats[i].steps = std::make_unique<step_counters>();
    }
    b.run_often();
    const stage_stats &stats = b.stats(0);
    if (s.steps) run.taken = *stats.steps;
    run.traffic = stats.traffic_cycles;
    run.timed = stats.timed_calls;
    run.interrupted = stats.interrupted_calls;
    return run;
}

TEST_P(worker_levels, steps_count_only_timed_calls) {
    const steps_of_a_run run = run_steps(GetParam(), UINT64_MAX);
    if (GetParam() < accounting::sampled) {
        EXPECT_EQ(run.role.timed, 0u);
        return;
    }
    EXPECT_GT(run.timed, 0u);
    EXPECT_EQ(run.role.timed, run.timed);
    EXPECT_EQ(run.taken[0].cycles, 7 * run.timed);
    EXPECT_EQ(run.taken[1].cycles, 3 * run.timed);
    EXPECT_EQ(run.taken[1].packets, 2 * run.timed);
    EXPECT_EQ(run.taken[1].stamps, run.timed);
    EXPECT_EQ(run.traffic, 7 * run.timed);
    EXPECT_EQ(run.role.steps.now, nullptr);
}

TEST_P(worker_levels, interrupted_calls_exclude_their_steps) {
    const steps_of_a_run run = run_steps(GetParam(), 0);
    if (GetParam() < accounting::sampled) return;
    EXPECT_GT(run.interrupted, 0u);
    EXPECT_EQ(run.timed, 0u);
    for (const wt_step &step : run.taken) EXPECT_EQ(step.cycles + step.packets + step.stamps, 0u);
    EXPECT_EQ(run.traffic, 0u);
}

TEST_P(worker_levels, takes_cycles_at_its_interval) {
    bench_of_two b(GetParam());
    b.run_often();
    const stage_stats &s = b.stats(0);
    const uint64_t loops = b.w.stats[0].loops;
    const uint64_t timed = GetParam() < accounting::sampled    ? 0
                           : GetParam() == accounting::sampled ? loops / 7
                                                               : loops;
    EXPECT_EQ(s.timed_calls, timed);
    EXPECT_LE(s.stall_cycles, s.busy_cycles);
    if (timed == 0) return;
    EXPECT_GT(s.busy_cycles, 0u);
    EXPECT_GT(s.stall_cycles, 0u);
    // chained stamps: the stages' cycles are the loops' cycles, to the tick
    uint64_t of_stages = 0;
    for (size_t i : {0, 1}) of_stages += b.stats(0, i).busy_cycles + b.stats(0, i).idle_cycles;
    EXPECT_EQ(of_stages, b.w.stats[0].timed_cycles);
    if (GetParam() != accounting::histograms) return;
    // a batch ends with the call that moves it: idle and stalled calls end none
    EXPECT_EQ(s.completion->total, s.stall->total);
    EXPECT_EQ(s.completion->total, calls_of(s) - s.burst[0]);
    EXPECT_LE(s.stall->sum, s.stall_cycles);
}

// Every Nth loop is written down, and nothing that is counted changes by it.
TEST_P(worker_levels, traces_at_its_interval) {
    bench_of_two b(GetParam());
    worker_trace trace(3, 7, 2);
    b.w.trace = &trace;
    std::vector<trace_event> events;
    std::thread thread(worker_main, &b.w);
    const auto collect = [&] {
        trace_event some[64];
        while (const uint32_t n = trace.ring.take(some, 64)) events.insert(events.end(), some, some + n);
    };
    while (events.size() < 3000) collect();
    b.signals.stop.store(true);
    thread.join();
    collect();

    const uint64_t loops = b.w.stats[0].loops;
    EXPECT_EQ(loops, b.roles[0].calls);
    EXPECT_EQ(objects_of(b.stats(0)), GetParam() == accounting::off ? 0 : b.roles[0].objects);
    uint64_t whole = 0, last_end = 0, objects = 0, calls = 0, chained_to = 0;
    for (const trace_event &e : events) {
        EXPECT_EQ(e.worker, 3);
        EXPECT_LE(e.start, e.end);
        if (e.stage != trace_whole_loop) {
            EXPECT_LT(e.stage, 2);
            EXPECT_TRUE(e.objects > 0 || e.stalled) << "an empty call";
            EXPECT_GE(e.start, chained_to ? chained_to : last_end);
            objects += e.objects, chained_to = e.end, calls++;
            continue;
        }
        EXPECT_GE(e.start, last_end);
        EXPECT_GE(e.end, chained_to);
        EXPECT_EQ(e.objects, objects);
        last_end = e.end, objects = chained_to = 0, whole++;
    }
    EXPECT_GT(calls, 0u);
    uint64_t traced = 0;
    // busy() did something
    for (uint64_t loop = 7; loop <= loops; loop += 7) traced += loop % 4 > 0 || loop % 10 == 0;
    EXPECT_EQ(trace.missed.load() == 0, whole == traced);
    if (GetParam() != accounting::sampled) {
        EXPECT_EQ(b.stats(0).timed_calls, GetParam() > accounting::sampled ? loops : 0);
    }
}

TEST(worker, a_full_trace_drops_whole_loops) {
    bench_of_two b(accounting::off);
    worker_trace trace(0, 1, 2);
    b.w.trace = &trace;
    std::thread thread(worker_main, &b.w);
    while (trace.missed.load() < 1000) std::this_thread::yield();  // nobody takes anything
    b.signals.stop.store(true);
    thread.join();
    trace_event e{};
    while (trace.ring.take(&e, 1) == 1) {
    }
    EXPECT_EQ(e.stage, trace_whole_loop);  // the last that found room ends a loop
}

INSTANTIATE_TEST_SUITE_P(worker, worker_levels,
                         testing::Values(accounting::off, accounting::counts, accounting::sampled,
                                         accounting::cycles, accounting::histograms));

// A stage that looks how many calls of the stage before it have been booked when it runs.
struct watching_role {
    const busy_role &before;
    const stage_stats &booked_before;
    uint64_t calls = 0, booked_early = 0;
};

call_result watch(void *role, const stage_call &) {
    auto &r = *static_cast<watching_role *>(role);
    const stage_stats &s = r.booked_before;
    r.booked_early += s.timed_calls != r.before.calls - 1;
    r.calls++;
    return {1};
}

// Booking a call takes tens of ticks: between two stamps, the next stage would seem to be so much slower.
TEST(worker, no_stage_pays_for_the_booking_of_another) {
    bench_of_two b(accounting::cycles);
    watching_role watching{b.roles[0], b.stats(0, 0)};
    b.w.stages[1].run = watch;
    b.w.stages[1].role = &watching;
    b.run_often();
    EXPECT_GT(watching.calls, 0u);
    EXPECT_EQ(watching.booked_early, 0u);
    uint64_t in_stages = 0;
    for (size_t stage : {0, 1}) {
        const stage_stats &s = b.stats(0, stage);
        in_stages += s.busy_cycles + s.idle_cycles + s.interrupted_cycles;
    }
    EXPECT_EQ(in_stages, b.w.stats[0].timed_cycles);
}

TEST(worker, interrupted_calls_are_counted_separately) {
    bench_of_two b(accounting::cycles, 0);  // every call is "interrupted"
    b.run_often();
    const stage_stats &s = b.stats(0);
    EXPECT_EQ(s.interrupted_calls, b.roles[0].calls);
    EXPECT_GT(s.interrupted_cycles, 0u);
    EXPECT_EQ(s.busy_cycles + s.idle_cycles + s.stall_cycles + s.timed_calls, 0u);
}

// A worker that is held does nothing until it is let go, whatever the number of holds, and a stop reaches it
// there.
TEST(worker, is_parked_while_held) {
    bench_of_two b(accounting::counts);
    std::thread thread(worker_main, &b.w);
    for (int hold = 0; hold < 3; hold++) {
        b.signals.held.store(hold_state::asleep);
        while (!b.w.parked.load(std::memory_order_acquire)) std::this_thread::yield();
        const uint64_t calls = b.roles[0].calls;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        EXPECT_EQ(b.roles[0].calls, calls);
        b.signals.held.store(hold_state::awake);
        b.signals.held.notify_all();
        while (b.w.parked.load(std::memory_order_acquire)) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        EXPECT_EQ(b.roles[0].calls, calls) << "awake, but another worker is not yet";
        if (hold == 2) b.signals.stop.store(true);
        b.signals.held.store(hold_state::running);
    }
    thread.join();
}

TEST(worker, stop_before_start_leaves_at_once) {
    bench_of_two b(accounting::counts);
    b.signals.stop.store(true);
    worker_main(&b.w);
    EXPECT_EQ(b.roles[0].calls, 0u);
}

TEST(worker, reading_the_clock_adds_to_a_timed_call) {
    double added = 0;
    // other programs on the CPU can hide it
    for (int trial = 0; trial < 20 && added <= 0; trial++) added = timed_call_ticks();
    EXPECT_GT(added, 0);
    EXPECT_LT(added, 1e6);
}

TEST(worker, cost_of_a_level_is_finite) {
    EXPECT_EQ(level_cost_ticks(accounting::off, 251) < 1e6, true);
    EXPECT_GE(level_cost_ticks(accounting::cycles, 251), level_cost_ticks(accounting::off, 251) - 1e3);
}

}  // namespace
}  // namespace wt::test::worker_test
