// The probe of the host's state: how far apart the workers' CPUs are, and whether they share a core.
//
// Between two windows all workers meet at a gate. Then, one after the other:
// - pairs of workers that exchange packets send cache lines to and fro, in rounds of pairs without a worker
//   in common. The round trip tells whether the two CPUs share a core, an L3 or nothing: a hypervisor moves
//   virtual CPUs from one to the other;
// - each worker fills its core with independent additions, in turns, and then all at once. Two CPUs that are
//   threads of one core take up to twice as long together. Up to `probe_most_turns` workers have a turn each;
//   more of them share turns, but never two that exchange packets;
// - a worker makes the round trips of a part, to somebody who is no worker: to a thread on another CPU, say,
//   which tells how far that CPU is.
// It lasts 50 to 100 us with two workers, longer with more rounds and turns, whose numbers are bounded, and
// not longer with more workers beyond that. The run's time (core/clock.h) stands still meanwhile. A worker
// that does not come in time, because it has no CPU or is in a long call, cuts the probe short: there is no
// reading, never a guess.
#pragma once

#include <rte_common.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace wt {

struct probe_pair {
    uint32_t a, b;  // positions of two workers
    uint32_t round;
};

// A round trip to somebody who is no worker.
struct probe_errand {
    uint32_t worker;  // who makes it
    void *of;
    // Gives up at the deadline (TSC). Returns whether there is a reading.
    bool (*run)(void *of, uint64_t deadline, double &ticks);
};

// What one probe measured, in TSC ticks.
struct probe_reading {
    bool complete = false;
    uint64_t held_ticks = 0;              // for which the run's time stood still
    std::vector<double> round_trip;       // of a line, a pair: the median of `probe_blocks` blocks
    std::vector<double> errands;          // an errand
    std::vector<double> alone, together;  // of `probe_wide_rounds` rounds of additions, a worker
};

constexpr uint32_t probe_lines = 8, probe_blocks = 12, probe_most_turns = 16;
// A probe with one round and two turns, as two workers need, is cut short after 1 ms.
constexpr uint64_t probe_patience_ns = 820'000, probe_step_ns = 60'000;

class host_probe {
  public:
    // Workers that cannot all run at once, as two on one CPU, cannot be probed: `workers` is 0 then. `pairs`
    // are in the order of their rounds. `patience_ticks`: after which it is cut short; `step_ticks` more for
    // each round and turn.
    void open(uint32_t workers, std::vector<probe_pair> pairs, std::vector<probe_errand> errands,
              uint64_t patience_ticks, uint64_t step_ticks = 0);
    const std::vector<probe_pair> &pairs() const { return pairs_; }
    const std::vector<probe_errand> &errands() const { return errands_; }
    bool possible() const { return workers_ > 0; }
    // Rounds and turns: what the time of a probe grows with.
    uint32_t steps() const { return rounds_ + turns_; }

    // In which a worker adds alone, before the first probe.
    uint32_t turn_of(uint32_t worker) const { return turn_of_[worker]; }

    // By main, while no worker is inside: the next probe begins when all workers have come.
    void ask();
    // By worker `self`, between two loops: takes part, or leaves when another worker does not come.
    void join(uint32_t self);
    // For main, after every worker has left.
    const probe_reading &reading() const { return reading_; }

  private:
    struct visit {
        uint32_t gates = 0;
        uint64_t deadline = 0;  // TSC
    };
    template <typename Last>
    bool gather(visit &v, Last last);
    bool await(visit &v, uint32_t all);
    bool round_trips(visit &v, uint32_t self);
    bool run_errands(visit &v, uint32_t self);
    bool additions(visit &v, uint32_t self);
    bool ping(const visit &v, size_t pair, double &ticks);
    bool pong(const visit &v, size_t pair);
    void take_turns();

    // flags of `arrived_`: the last one has come and closes the gate; somebody has not come
    static constexpr uint32_t closing = 1u << 30, cut_short = 1u << 31;

    uint32_t workers_ = 0, asked_ = 0, rounds_ = 0, turns_ = 0;
    std::vector<probe_pair> pairs_;
    std::vector<probe_errand> errands_;
    std::vector<uint32_t> turn_of_;  // a worker
    uint64_t patience_ = 0, began_ = 0;
    probe_reading reading_;
    alignas(RTE_CACHE_LINE_SIZE) std::atomic<uint32_t> arrived_{0};  // at all gates since `ask`
    struct alignas(RTE_CACHE_LINE_SIZE) line {
        std::atomic<uint32_t> value{0};
    };
    std::vector<std::array<line, probe_lines>> lines_;  // a pair
};

}  // namespace wt
