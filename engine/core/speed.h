// Samples the speed of a core: two short loops in registers, timed with the TSC, which ticks at one
// rate at any core frequency.
//
// A chain of multiplications waits for each before the next: it lasts longer when the core's clock goes down.
// Additions that do not wait for each other fill the execution units: they last longer when a hardware thread
// on the same core, ours or one behind the hypervisor, uses the units too. Neither touches memory.
#pragma once

#include <rte_cycles.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace wt {

struct speed_sample {
    uint32_t chain, wide;  // TSC ticks
};

// Both last some 3,000 ticks: the TSC of some machines moves in steps of 26.
constexpr uint32_t speed_chain_length = 1024, speed_wide_rounds = 2560;
// rounds before the clock is read: the first fetch of the code is no part of it
constexpr uint32_t speed_warmup = 16;

// Ticks of a chain of this number of multiplications.
inline uint64_t speed_chain_ticks(uint32_t length) {
    uint64_t x = 3;
    const uint64_t start = rte_rdtsc();
    for (uint32_t i = 0; i < length; i++) {
        x *= x;
        asm volatile("" : "+r"(x));  // or the compiler would leave the loop out
    }
    return rte_rdtsc() - start;
}

// Ticks of this number of rounds of eight additions. None waits for another: a core with six adders is
// filled.
inline uint64_t speed_wide_ticks(uint32_t rounds) {
    uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    const uint64_t start = rte_rdtsc();
    for (uint32_t i = 0; i < rounds; i++) {
        a++, b++, c++, d++, e++, f++, g++, h++;
        asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
    }
    return rte_rdtsc() - start;
}

// About 3 us on a core of 3 GHz. Not inlined: both calls of a loop must run the same code.
__attribute__((noinline)) inline speed_sample speed_measure() {
    speed_sample sample{};
    for (const bool warm : {false, true}) {
        sample.chain = static_cast<uint32_t>(speed_chain_ticks(warm ? speed_chain_length : speed_warmup));
        sample.wide = static_cast<uint32_t>(speed_wide_ticks(warm ? speed_wide_rounds : speed_warmup));
    }
    return sample;
}

// The samples of one window; of more than fit the last ones. Written by the worker alone, at main's beat.
struct speed_log {
    static constexpr uint32_t room = 64;
    uint32_t taken = 0;
    speed_sample samples[room];

    void add(const speed_sample &s) { samples[taken++ % room] = s; }
    uint32_t kept() const { return std::min(taken, room); }
};

// Ticks of the chain: the median of a window's samples, for a clock changes seldom and other effects
// only add time. 0 where there is none.
inline double speed_chain(const speed_log &log) {
    std::array<uint32_t, speed_log::room> ticks;
    for (uint32_t i = 0; i < log.kept(); i++) ticks[i] = log.samples[i].chain;
    const auto middle = ticks.begin() + log.kept() / 2;
    std::nth_element(ticks.begin(), middle, ticks.begin() + log.kept());
    return log.kept() ? *middle : 0.0;
}

// Ticks of the additions: the mean, because other load varies; without the samples that an interrupt
// hit. 0 where there is none.
inline double speed_wide(const speed_log &log) {
    constexpr uint32_t interrupted = 4;  // times the least
    uint64_t least = UINT64_MAX, sum = 0, count = 0;
    for (uint32_t i = 0; i < log.kept(); i++) least = std::min<uint64_t>(least, log.samples[i].wide);
    for (uint32_t i = 0; i < log.kept(); i++) {
        if (log.samples[i].wide > interrupted * least) continue;
        sum += log.samples[i].wide;
        count++;
    }
    return count ? static_cast<double>(sum) / static_cast<double>(count) : 0.0;
}

}  // namespace wt
