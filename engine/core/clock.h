// Time: the TSC (rte_rdtsc; on other machines the generic timer) without the time in which the run was held,
// its measured frequency, and ticks as nanoseconds.
#pragma once

#include <rte_cycles.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace wt {

// Ticks for which the run was held so far. It rises only while every worker is held: parked by main, in the
// probe, or where there is one worker, by itself.
inline uint64_t held_ticks = 0;

inline void hold_clock(uint64_t ticks) {
    __atomic_store_n(&held_ticks, held_ticks + ticks, __ATOMIC_RELAXED);
}

// Since when the run is held, on the steady clock; 0 while it runs. For threads beside the workers: what they
// do for the run waits until it is 0 again. Written by main.
inline std::atomic<std::chrono::steady_clock::rep> held_since{0};

// The time of the run, in ticks. It stands still while the run is held, so that a latency, a pace or a
// time-out that spans a hold does not include it.
inline uint64_t now() { return rte_rdtsc() - __atomic_load_n(&held_ticks, __ATOMIC_RELAXED); }

// Makes the run's time since `since` (TSC) exactly `ticks`, whatever was done since then: waits where that
// took less, and where it took more, the run counts as held. Returns until when (TSC). Only for the one
// worker of a run.
inline uint64_t take_exactly(uint64_t ticks, uint64_t since) {
    uint64_t until = rte_rdtsc_precise();  // not before all stores have been made
    while (until - since < ticks) until = rte_rdtsc();
    hold_clock(until - since - ticks);
    return until;
}

// How the frequency was measured, for the result.
constexpr const char *tsc_source = "measured against CLOCK_MONOTONIC_RAW";

// Ticks a second, measured in about 20 ms: the median of several slices, those that were interrupted left
// out.
double measure_tsc_hz();

// Ticks from one read of the clock to the next when nothing stands between them: what a chained stamp costs.
double stamp_ticks();

// Turns ticks into nanoseconds. Plain data, for hot paths.
struct tsc_clock {
    uint64_t start;  // TSC at clock_start
    double ns_per_tick;
    uint64_t mult;  // ns_per_tick * 2^shift
    unsigned shift;

    // Nanoseconds of `ticks`. Any number of ticks whose nanoseconds fit 64 bits: 584 years.
    uint64_t ns(uint64_t ticks) const {
        return static_cast<uint64_t>((static_cast<unsigned __int128>(ticks) * mult) >> shift);
    }
    uint64_t since_start_ns() const { return ns(now() - start); }
};

tsc_clock clock_start(double hz);

// One moment on both clocks, for a look at how far they have drifted apart.
struct clock_check {
    uint64_t tsc, raw_ns;
};

clock_check check_clock();

// By how many parts in a million the TSC's nanoseconds have run faster than CLOCK_MONOTONIC_RAW since then.
double clock_error_ppm(const tsc_clock &clock, const clock_check &since);

// Ticks to ns in fixed point: ns = ticks * mult >> 32.
inline uint64_t ticks_to_ns(uint64_t ticks, uint64_t mult) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(ticks) * mult) >> 32);
}

}  // namespace wt
