// Windows and phases of a run, and the probes of the host between them.
#include <string>
#include <string_view>

#include "run/run_control.h"
#include "run/variants.h"
#include "stages/client_state.h"

namespace wt {

// While the workers probe main sleeps: it would take a CPU from one. Two workers need 50 to 100 us, each
// further round and turn some 40. Probes that far apart cost at most 0.2% of a run, and 2% where workers do
// not come in time.
uint64_t probe_takes_ns(const host_probe &probe) { return 80'000 + probe.steps() * 40'000; }
uint64_t probe_every_ns(const host_probe &probe) {
    return 50 * (probe_patience_ns + probe.steps() * probe_step_ns);
}

// A handler may be slow; the supervisor notices when it takes too long. A worker that gets no CPU is
// announced, because it needs more patience: of six that spin on two CPUs, one was seen without a CPU for
// more than six seconds.
template <typename Condition>
void run_control::await_worker(const worker &w, uint64_t step_ns, Condition holds) {
    const uint64_t second = 1000 * ms;
    uint64_t look_at = now_ns() + second;
    std::optional<sched_times> before;
    bool announced = false;
    while (!holds() && ordered != end_reason::parent_lost) {
        wait(now_ns() + step_ns);
        if (announced || now_ns() < look_at) continue;
        look_at += second;
        const auto now = schedstat_of(w.tid.load(std::memory_order_relaxed));
        if (before && now && now->on_cpu_ns - before->on_cpu_ns < second / 100)
            announced = f.lines.phase("running, though the worker on CPU " + std::to_string(w.cpu) +
                                      " has not run for a second");
        before = now;
    }
}

void run_control::await_switch(const worker &w, uint32_t epoch) {
    await_worker(w, ms / 20, [&] { return w.epoch_seen.load(std::memory_order_acquire) == epoch; });
}

void run_control::hold() {
    if (turn.held()) return;
    turn.park();
    for (const worker &w : f.workers)
        await_worker(w, ms / 50, [&] { return w.parked.load(std::memory_order_acquire); });
    turn.hold();
}

// Writing and reading a window takes some milliseconds of CPU. Where no CPU is free for it, the run's time
// stands still until the supervisor has read.
void run_control::await_reader() {
    const uint32_t most_polls = 500;  // of a supervisor that is stopped, or that does not know the command
    for (uint32_t polls = 0; !window_read && !ordered && polls < most_polls; polls++) wait(now_ns() + ms / 5);
}

void run_control::take_turn() {
    while (!ordered && !turn.await(control)) read_commands();
    if (f.plan.phases.hold_windows) await_reader();
    turn.go_on();
}

// Asks the workers to probe the host when they switch to this epoch, unless they have done so just now.
bool run_control::ask_for_probe(uint32_t epoch) {
    if (!f.signals.probe.possible() || now_ns() < next_probe) return false;
    next_probe = now_ns() + probe_every_ns(f.signals.probe);
    f.signals.probe.ask();
    f.signals.probe_at.store(epoch, std::memory_order_relaxed);
    return true;
}

void run_control::next_window(const char *phase) {
    const uint32_t epoch = f.signals.epoch.load(std::memory_order_relaxed) + 1;
    const bool probes = ask_for_probe(epoch);
    f.signals.epoch.store(epoch, std::memory_order_release);
    if (probes) wait(now_ns() + probe_takes_ns(f.signals.probe));
    for (const worker &w : f.workers) await_switch(w, epoch);
    if (ordered == end_reason::parent_lost) return;
    const uint64_t end = now();
    look_at_links();
    if (turn.taken() || f.plan.phases.hold_windows) hold();
    window_read = false;
    write_window(f, phase, epoch - 1, end, probes ? &f.signals.probe.reading() : nullptr);
}

uint64_t run_control::responses() const {
    uint64_t sum = 0;
    for (const endpoint &e : f.endpoints)
        for (const auto &a : e.applications)
            if (a->receiving) sum += a->receiving->responses.load(std::memory_order_relaxed);
    return sum;
}

// Changes the run to a variant, between two windows. Until the change shows in every stage, its time is in a
// window of its own. False: there is nothing to change.
bool run_control::settle_into(uint32_t variant) {
    if (variant == f.variant) return false;
    hold();
    apply_variant(f, variant);
    take_turn();
    const uint64_t end = now_ns() + f.plan.variants->settle_ns;
    while (now_ns() < end && !ordered) wait(end);
    next_window("settle");
    return true;
}

bool run_control::run_phase(const char *name, uint64_t length_ns, std::optional<uint64_t> messages) {
    take_turn();  // in a hold there is no time of the run
    const uint64_t start = now_ns(), goal = messages ? responses() + *messages : UINT64_MAX;
    const bool measures = std::string_view(name) == "measure";
    uint64_t window_end = start, windows = 0;
    while (window_end < start + length_ns + extended_ns + settled_ns && !ordered && responses() < goal) {
        if (measures && settle_into(variant_of_window(f.plan, windows++))) {
            const uint64_t settled = f.lines.at_ns(f.window_start);
            settled_ns += settled - window_end;
            window_end = settled;
        }
        const uint64_t end = start + length_ns + extended_ns + settled_ns;
        window_end = std::min(window_end + f.plan.phases.window_ns, end);
        // A window much shorter than the others would say little, so the last one takes the rest.
        if (end - window_end < f.plan.phases.window_ns / 2) window_end = end;
        take_turn();
        while (now_ns() < window_end && !ordered && responses() < goal) wait(window_end);
        next_window(measures && f.variant > 0 ? "variant" : name);
        turn.hand_on();
    }
    return !ordered && (!messages || responses() >= goal);
}

}  // namespace wt
