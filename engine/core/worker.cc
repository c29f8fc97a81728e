#include "core/worker.h"

#include <rte_branch_prediction.h>
#include <rte_pause.h>
#include <unistd.h>

#include <algorithm>

#include "core/allocation_watch.h"

namespace wt {

void stage_stats::clear() {
    static_cast<stage_counters &>(*this) = {};
    std::fill(std::begin(drops), std::end(drops), 0);
    std::fill(std::begin(burst), std::end(burst), 0);
    if (latency) latency->intended.clear(), latency->sent.clear();
    if (pacing) pacing->clear();
    if (of_part) of_part->clear();
    if (completion) completion->clear(), stall->clear();
    if (steps) steps->fill({});
}

namespace {

// Books one timed call. An interrupted one says nothing about the stage: the host took the core, or a handler
// ran very long.
template <accounting level>
void book(stage &of, uint64_t cycles, call_result r, uint64_t interrupted_above) {
    stage_stats &s = *of.current;
    if (unlikely(cycles > interrupted_above)) {
        s.interrupted_calls++;
        s.interrupted_cycles += cycles;
        if (of.steps) of.steps->taken.fill({});
        return;
    }
    if (of.steps) {
        const uint64_t traffic = take_steps(*of.steps, *s.steps);
        s.traffic_cycles += traffic;
        cycles -= traffic;
    }
    s.timed_calls++;
    s.timed_objects += r.objects;
    if (r.objects == 0 && !r.stalled && !r.worked) {
        s.idle_cycles += cycles;
        return;
    }
    s.busy_cycles += cycles;
    if (r.stalled) {
        s.stall_cycles += cycles;
    } else {
        s.timed_work_calls++;
        s.timed_objects_squared += uint64_t{r.objects} * r.objects;
        s.timed_objects_cycles += r.objects * cycles;
    }
    if constexpr (level == accounting::histograms) {
        // A batch begins with its first stalled call and ends with the call that moved it.
        if (r.stalled) {
            of.batch_stall += cycles;
            return;
        }
        s.completion->add(of.batch_stall + cycles);
        s.stall->add(of.batch_stall);
        of.batch_stall = 0;
    }
}

#define WT_X(name) want == for_##name ? s.stalled_for_##name:
uint64_t &stalled_calls(stage_counters &s, stalled_for want) {
    return want == for_mbufs  ? s.stalled_for_mbufs
           : want == for_ring ? s.stalled_for_ring
                              : WT_STALLS_OF_PARTS(WT_X) s.stalled_for_port;
}
#undef WT_X

template <accounting level>
call_result run_stage(stage &s, uint64_t now) {
    const call_result r = s.run(s.role, {s.current, now});
    if constexpr (level != accounting::off) {
        s.current->burst[r.objects]++;
        if (unlikely(r.stalled)) stalled_calls(*s.current, r.stalled)++;
    }
    return r;
}

// A call whose cycles are taken: the handler may take those of its steps.
template <accounting level>
call_result run_timed(stage &s, uint64_t now) {
    if (s.steps == nullptr) return run_stage<level>(s, now);
    s.steps->now = s.steps->taken.data();
    const call_result r = run_stage<level>(s, now);
    s.steps->now = nullptr;
    return r;
}

template <accounting level>
void plain_loop(worker &w) {
    for (stage &s : w.stages) run_stage<level>(s, 0);
}

// Runs every stage once, with chained stamps: the end of one call is the start of the next. Nothing is booked
// between two calls: the next one would pay for it. Returns the start of the first.
template <accounting level>
uint64_t take_calls(worker &w) {
    const uint64_t start = now();
    uint64_t before = start;
    for (size_t i = 0; i < w.stages.size(); i++) {
        w.timed[i].result = run_timed<level>(w.stages[i], before);
        before = w.timed[i].end = now();
    }
    return start;
}

template <accounting level>
void book_calls(worker &w, worker_stats &stats, uint64_t start) {
    uint64_t before = start;
    for (size_t i = 0; i < w.stages.size(); i++) {
        const timed_call &call = w.timed[i];
        book<level>(w.stages[i], call.end - before, call.result, w.interrupted_above);
        before = call.end;
    }
    stats.timed_cycles += before - start;
}

template <accounting level>
void timed_loop(worker &w, worker_stats &stats) {
    book_calls<level>(w, stats, take_calls<level>(w));
}

// A timed loop that is traced too: each call that moved objects or stalled, and the loop around
// them. One in which none did is left out: an idle worker polls millions of times a second. Where the level
// takes no cycles, none are booked.
template <accounting level>
void traced_loop(worker &w, worker_stats &stats) {
    worker_trace &t = *w.trace;
    const uint64_t start = take_calls<level>(w);
    if constexpr (level >= accounting::sampled) book_calls<level>(w, stats, start);
    trace_event *next = t.loop.data();
    uint64_t before = start;
    uint32_t objects = 0;
    bool stalled = false;
    for (size_t i = 0; i < w.stages.size(); i++) {
        const auto &[after, r] = w.timed[i];
        if (r.objects || r.stalled || r.worked)
            *next++ = {
                before, after, r.objects, r.stalled != not_stalled, t.worker, static_cast<uint16_t>(i)};
        objects += r.objects;
        stalled |= r.stalled != not_stalled;
        before = after;
    }
    if (next == t.loop.data()) return;
    *next++ = {start, before, objects, stalled, t.worker, trace_whole_loop};
    trace_hand_over(t, static_cast<uint32_t>(next - t.loop.data()));
}

// Ends what must not go on while the run's time stands still.
void end_before_hold(worker &w) {
    for (stage &s : w.stages)
        if (s.before_hold) s.before_hold(s.own_role, *s.current);
}

// Switches to the other set of counters; from the release on, main owns the old one. The probe lies between
// the windows, in neither.
void switch_window(worker &w, uint32_t epoch) {
    const bool probes = w.signals->probe_at.load(std::memory_order_relaxed) == epoch;
    if (probes) end_before_hold(w);
    w.stats[w.epoch & 1].cycles = now() - w.window_start;
    if (probes) w.signals->probe.join(w.index);
    w.window_start = now();
    w.epoch = epoch;
    for (stage &s : w.stages) s.current = &s.stats[epoch & 1];
    w.epoch_seen.store(epoch, std::memory_order_release);
}

// Measures the core's speed. Outside every stage, so in none of their cycles.
void take_beat(worker &w, uint32_t beat) {
    w.beat = beat;
    w.speed[w.epoch & 1].add(speed_measure());
}

// Sleeps between two loops until main lets the run go on. A worker may wake up milliseconds after another
// one: all wait, awake, for the run's time.
void park(worker &w) {
    end_before_hold(w);
    const std::atomic<hold_state> &held = w.signals->held;
    w.parked.store(true, std::memory_order_release);
    held.wait(hold_state::asleep, std::memory_order_acquire);
    w.parked.store(false, std::memory_order_release);
    while (held.load(std::memory_order_acquire) == hold_state::awake) rte_pause();
}

// Tracing has a separate loop: without it, it costs nothing.
template <accounting level, bool traces>
void loop(worker &w) {
    uint32_t until_sample = w.sample_every;
    [[maybe_unused]] uint32_t until_trace = traces ? w.trace->every : 0;
    while (likely(!w.signals->stop.load(std::memory_order_relaxed))) {
        if (unlikely(w.signals->held.load(std::memory_order_relaxed) != hold_state::running)) park(w);
        const uint32_t epoch = w.signals->epoch.load(std::memory_order_acquire);
        if (unlikely(epoch != w.epoch)) switch_window(w, epoch);
        const uint32_t beat = w.signals->beat.load(std::memory_order_relaxed);
        if (unlikely(beat != w.beat)) take_beat(w, beat);
        worker_stats &stats = w.stats[w.epoch & 1];
        stats.loops++;
        if constexpr (traces) {
            if (unlikely(--until_trace == 0)) {
                until_trace = w.trace->every;
                traced_loop<level>(w, stats);
                continue;
            }
        }
        if constexpr (level == accounting::sampled) {
            if (likely(--until_sample != 0)) {
                plain_loop<level>(w);
                continue;
            }
            until_sample = w.sample_every;
        }
        if constexpr (level >= accounting::sampled)
            timed_loop<level>(w, stats);
        else
            plain_loop<level>(w);
    }
}

template <bool traces>
void loop_at(worker &w) {
    switch (w.level) {
        case accounting::off: return loop<accounting::off, traces>(w);
        case accounting::counts: return loop<accounting::counts, traces>(w);
        case accounting::sampled: return loop<accounting::sampled, traces>(w);
        case accounting::cycles: return loop<accounting::cycles, traces>(w);
        case accounting::histograms: return loop<accounting::histograms, traces>(w);
    }
}

}  // namespace

int worker_main(void *argument) {
    worker &w = *static_cast<worker *>(argument);
    w.tid.store(gettid(), std::memory_order_relaxed);
    w.timed.resize(w.stages.size());
    w.window_start = now();
    const uint64_t before = thread_allocations();
    w.trace ? loop_at<true>(w) : loop_at<false>(w);
    w.allocations.store(thread_allocations() - before, std::memory_order_relaxed);
    w.stats[w.epoch & 1].cycles = now() - w.window_start;
    w.done.store(true, std::memory_order_release);
    return 0;
}

// What accounting costs is measured on empty stages. The last one of them ends the loop after so many calls.
namespace {

struct countdown {
    run_signals *signals;
    uint32_t calls;
};

call_result count_down(void *role, const stage_call &) {
    auto &c = *static_cast<countdown *>(role);
    if (--c.calls == 0) c.signals->stop.store(true, std::memory_order_relaxed);
    return {1};
}

call_result do_nothing(void *, const stage_call &) { return {1}; }

struct empty_loops {
    double ticks;      // of a loop, whatever stands in it
    double read_call;  // what a timed call of the first stage was booked with; 0 without timed calls
};

empty_loops run_empty(accounting level, uint32_t sample_every, uint32_t stages) {
    constexpr uint32_t loops = 20'000;  // a few milliseconds of every start
    run_signals signals;
    countdown role{&signals, loops};
    worker w;
    w.level = level;
    w.sample_every = sample_every;
    w.interrupted_above = UINT64_MAX;
    w.signals = &signals;
    w.timed.resize(stages);
    for (uint32_t i = 0; i < stages; i++) {
        stage &s = w.stages.emplace_back();
        s.run = i + 1 == stages ? count_down : do_nothing;
        s.role = &role;
        s.stats = std::make_unique<stage_stats[]>(2);
        for (int set : {0, 1}) {
            s.stats[set].completion = std::make_unique<batch_histogram>();
            s.stats[set].stall = std::make_unique<batch_histogram>();
            s.stats[set].clear();
        }
        s.current = &s.stats[0];
    }
    const uint64_t start = now();
    loop_at<false>(w);
    const auto ticks = static_cast<double>(now() - start);
    const stage_stats &first = w.stages.front().stats[0];
    const uint64_t timed = std::max<uint64_t>(first.timed_calls, 1);
    return {ticks / loops, static_cast<double>(first.busy_cycles) / static_cast<double>(timed)};
}

// The least of several trials: interruptions only add time.
empty_loops least_empty(accounting level, uint32_t sample_every, uint32_t stages) {
    empty_loops least = {1e9, 1e9};
    for (int trial = 0; trial < 5; trial++) {
        const empty_loops one = run_empty(level, sample_every, stages);
        least.ticks = std::min(least.ticks, one.ticks);
        least.read_call = std::min(least.read_call, one.read_call);
    }
    return least;
}

}  // namespace

double level_cost_ticks(accounting level, uint32_t sample_every) {
    const double with = least_empty(level, sample_every, 1).ticks;
    return std::max(0.0, with - least_empty(accounting::off, sample_every, 1).ticks);
}

double timed_call_ticks() {
    constexpr uint32_t more = 8;
    const double one = least_empty(accounting::counts, 1, 1).ticks;
    const double untimed = (least_empty(accounting::counts, 1, 1 + more).ticks - one) / more;
    return std::max(0.0, least_empty(accounting::cycles, 1, 1 + more).read_call - untimed);
}

}  // namespace wt
