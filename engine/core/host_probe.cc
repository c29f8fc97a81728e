#include "core/host_probe.h"

#include <rte_cycles.h>
#include <rte_pause.h>

#include <algorithm>

#include "core/clock.h"
#include "core/speed.h"

namespace wt {

void host_probe::open(uint32_t workers, std::vector<probe_pair> pairs, std::vector<probe_errand> errands,
                      uint64_t patience_ticks) {
    workers_ = workers;
    pairs_ = std::move(pairs);
    errands_ = std::move(errands);
    patience_ = patience_ticks;
    reading_.round_trip.resize(pairs_.size());
    reading_.errands.resize(errands_.size());
    reading_.alone.resize(workers);
    reading_.together.resize(workers);
}

void host_probe::ask() {
    asked_++;
    reading_.complete = false;
    reading_.held_ticks = 0;
    for (line &l : lines_) l.value.store(0, std::memory_order_relaxed);
    arrived_.store(0, std::memory_order_release);
}

// Waits until all workers have come to this gate; `last` is called by the one that comes last, before any of
// them goes on. False: one did not come in time. All agree on that, because a gate is either closed or cut
// short, by one exchange.
template <typename Last>
bool host_probe::gather(visit &v, Last last) {
    const uint32_t all = ++v.gates * workers_;
    uint32_t seen = arrived_.load(std::memory_order_acquire);
    for (;;) {
        if (seen & cut_short) return false;
        const bool is_last = seen + 1 == all;
        if (!arrived_.compare_exchange_weak(seen, is_last ? seen | closing : seen + 1,
                                            std::memory_order_acq_rel, std::memory_order_acquire))
            continue;
        if (!is_last) return await(v, all);
        last();
        arrived_.store(all, std::memory_order_release);
        return true;
    }
}

bool host_probe::await(visit &v, uint32_t all) {
    for (;;) {
        uint32_t seen = arrived_.load(std::memory_order_acquire);
        if (seen & cut_short) return false;
        if (!(seen & closing)) {
            if (seen >= all) return true;
            if (rte_rdtsc() > v.deadline &&
                arrived_.compare_exchange_strong(seen, seen | cut_short, std::memory_order_acq_rel))
                return false;
        }
        rte_pause();
    }
}

// Whether `seen` came true before the deadline. The clock is read seldom: a read takes as long as a near
// line's way.
template <typename Seen>
bool spin(uint64_t deadline, Seen seen) {
    constexpr uint32_t spins = 64;
    for (;;) {
        for (uint32_t i = 0; i < spins; i++)
            if (seen()) return true;
        if (rte_rdtsc() > deadline) return false;
    }
}

// The median of the blocks: the fastest would mislead, because a line may be met on its way.
bool host_probe::ping(const visit &v, double &ticks) {
    std::array<uint64_t, probe_blocks> blocks;
    for (uint32_t block = 0; block < probe_blocks; block++) {
        const uint32_t sent = 2 * block + 1;
        const uint64_t start = rte_rdtsc();
        for (line &l : lines_) {
            l.value.store(sent, std::memory_order_release);
            if (!spin(v.deadline, [&] { return l.value.load(std::memory_order_acquire) != sent; }))
                return false;
        }
        blocks[block] = rte_rdtsc() - start;
    }
    const auto middle = blocks.begin() + probe_blocks / 2;
    std::nth_element(blocks.begin(), middle, blocks.end());
    ticks = static_cast<double>(*middle) / probe_lines;
    return true;
}

bool host_probe::pong(const visit &v) {
    for (uint32_t block = 0; block < probe_blocks; block++)
        for (line &l : lines_) {
            const uint32_t sent = 2 * block + 1;
            if (!spin(v.deadline, [&] { return l.value.load(std::memory_order_acquire) == sent; }))
                return false;
            l.value.store(sent + 1, std::memory_order_release);
        }
    return true;
}

bool host_probe::round_trips(visit &v, uint32_t self) {
    for (size_t i = 0; i < pairs_.size(); i++) {
        if (self == pairs_[i].a && !ping(v, reading_.round_trip[i])) return false;
        if (self == pairs_[i].b && !pong(v)) return false;
        if (!gather(v, [] {})) return false;
    }
    return true;
}

bool host_probe::run_errands(visit &v, uint32_t self) {
    for (size_t i = 0; i < errands_.size(); i++) {
        const probe_errand &errand = errands_[i];
        if (self == errand.worker && !errand.run(errand.of, v.deadline, reading_.errands[i])) return false;
        if (!gather(v, [] {})) return false;
    }
    return true;
}

namespace {
// Ticks of the additions while the core does nothing else. The first block fetches the code and the last one
// covers those who are later; of two between them the smaller, for an interrupt only adds time.
double wide_block() {
    speed_wide_ticks(speed_wide_rounds);
    const uint64_t one = speed_wide_ticks(speed_wide_rounds), other = speed_wide_ticks(speed_wide_rounds);
    speed_wide_ticks(speed_wide_rounds);
    return static_cast<double>(std::min(one, other));
}
}  // namespace

// Who is first changes from probe to probe.
bool host_probe::additions(visit &v, uint32_t self) {
    for (uint32_t i = 0; i < workers_; i++) {
        if (self == (i + asked_) % workers_) reading_.alone[self] = wide_block();
        if (!gather(v, [] {})) return false;
    }
    reading_.together[self] = wide_block();
    return true;
}

void host_probe::join(uint32_t self) {
    visit v{.deadline = rte_rdtsc() + patience_};
    if (!gather(v, [&] { began_ = rte_rdtsc(); })) return;
    if (!round_trips(v, self) || !run_errands(v, self) || !additions(v, self)) return;
    gather(v, [&] {
        reading_.complete = true;
        reading_.held_ticks = rte_rdtsc() - began_;
        hold_clock(reading_.held_ticks);
    });
}

}  // namespace wt
