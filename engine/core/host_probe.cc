#include "core/host_probe.h"

#include <rte_cycles.h>
#include <rte_pause.h>

#include <algorithm>

#include "core/clock.h"
#include "core/speed.h"

namespace wt {

void host_probe::open(uint32_t workers, std::vector<probe_pair> pairs, std::vector<probe_errand> errands,
                      uint64_t patience_ticks, uint64_t step_ticks) {
    workers_ = workers;
    pairs_ = std::move(pairs);
    errands_ = std::move(errands);
    rounds_ = pairs_.empty() ? 0 : pairs_.back().round + 1;
    lines_ = decltype(lines_)(pairs_.size());
    take_turns();
    patience_ = patience_ticks + steps() * step_ticks;
    reading_.round_trip.resize(pairs_.size());
    reading_.errands.resize(errands_.size());
    reading_.alone.resize(workers);
    reading_.together.resize(workers);
}

// Each worker gets the turn that the fewest have, of those that nobody has with whom it exchanges packets.
void host_probe::take_turns() {
    turns_ = std::min(workers_, probe_most_turns);
    turn_of_.clear();
    std::vector<uint32_t> taken(turns_);
    for (uint32_t w = 0; w < workers_; w++) {
        std::vector<uint32_t> cost = taken;
        for (const probe_pair &pair : pairs_) {
            if (pair.a == w && pair.b < w) cost[turn_of_[pair.b]] += workers_;
            if (pair.b == w && pair.a < w) cost[turn_of_[pair.a]] += workers_;
        }
        const auto turn = static_cast<uint32_t>(std::min_element(cost.begin(), cost.end()) - cost.begin());
        turn_of_.push_back(turn);
        taken[turn]++;
    }
}

void host_probe::ask() {
    asked_++;
    reading_.complete = false;
    reading_.held_ticks = 0;
    for (auto &of_pair : lines_)
        for (line &l : of_pair) l.value.store(0, std::memory_order_relaxed);
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
bool host_probe::ping(const visit &v, size_t pair, double &ticks) {
    std::array<uint64_t, probe_blocks> blocks;
    for (uint32_t block = 0; block < probe_blocks; block++) {
        const uint32_t sent = 2 * block + 1;
        const uint64_t start = rte_rdtsc();
        for (line &l : lines_[pair]) {
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

bool host_probe::pong(const visit &v, size_t pair) {
    for (uint32_t block = 0; block < probe_blocks; block++)
        for (line &l : lines_[pair]) {
            const uint32_t sent = 2 * block + 1;
            if (!spin(v.deadline, [&] { return l.value.load(std::memory_order_acquire) == sent; }))
                return false;
            l.value.store(sent + 1, std::memory_order_release);
        }
    return true;
}

bool host_probe::round_trips(visit &v, uint32_t self) {
    for (size_t i = 0; i < pairs_.size(); i++) {
        if (self == pairs_[i].a && !ping(v, i, reading_.round_trip[i])) return false;
        if (self == pairs_[i].b && !pong(v, i)) return false;
        const bool ends_round = i + 1 == pairs_.size() || pairs_[i + 1].round != pairs_[i].round;
        if (ends_round && !gather(v, [] {})) return false;
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
    for (uint32_t i = 0; i < turns_; i++) {
        if (turn_of_[self] == (i + asked_) % turns_) reading_.alone[self] = wide_block();
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
