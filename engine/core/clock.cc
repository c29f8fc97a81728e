#include "core/clock.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <vector>

namespace wt {

namespace {

// The same moment on both clocks. `width`: ticks between the two reads of the TSC around the other clock, so
// the error.
struct moment {
    uint64_t tsc, raw_ns, width;
};

moment read_both() {
    timespec t;
    const uint64_t before = rte_rdtsc_precise();
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    const uint64_t after = rte_rdtsc_precise();
    return {before + (after - before) / 2, static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec,
            after - before};
}

// The best of several reads: an interrupt between two reads widens one of them, seldom all.
moment read_both_well() {
    moment best = read_both();
    for (int i = 0; i < 7; i++) {
        const moment m = read_both();
        if (m.width < best.width) best = m;
    }
    return best;
}

}  // namespace

double measure_tsc_hz() {
    constexpr size_t points = 9, apart = 4;  // 5 slices of about 10 ms, each from 4 naps
    constexpr timespec nap = {0, 2'500'000};
    std::array<moment, points> moments;
    for (moment &m : moments) {
        m = read_both_well();
        nanosleep(&nap, nullptr);  // cut short by a signal it only makes a slice shorter
    }
    const auto narrower = [](const moment &a, const moment &b) { return a.width < b.width; };
    const uint64_t too_wide = 4 * std::min_element(moments.begin(), moments.end(), narrower)->width + 1;

    std::vector<double> slices, precise;
    for (size_t i = 0; i + apart < points; i++) {
        const moment &a = moments[i], &b = moments[i + apart];
        slices.push_back(1e9 * static_cast<double>(b.tsc - a.tsc) / static_cast<double>(b.raw_ns - a.raw_ns));
        if (std::max(a.width, b.width) < too_wide) precise.push_back(slices.back());
    }
    std::vector<double> &chosen = precise.empty() ? slices : precise;
    const auto median = chosen.begin() + chosen.size() / 2;
    std::nth_element(chosen.begin(), median, chosen.end());
    return *median;
}

double stamp_ticks() {
    constexpr uint32_t stamps = 1000, trials = 5;
    uint64_t least = UINT64_MAX;  // interruptions only add time
    for (uint32_t trial = 0; trial < trials; trial++) {
        const uint64_t start = rte_rdtsc();
        uint64_t last = start;
        for (uint32_t i = 0; i < stamps; i++) last = rte_rdtsc();
        least = std::min(least, last - start);
    }
    return static_cast<double>(least) / stamps;
}

clock_check check_clock() {
    const moment m = read_both_well();
    return {m.tsc, m.raw_ns};
}

double clock_error_ppm(const tsc_clock &clock, const clock_check &since) {
    const clock_check now = check_clock();
    const auto by_tsc = static_cast<double>(clock.ns(now.tsc - since.tsc));
    const auto by_raw = static_cast<double>(now.raw_ns - since.raw_ns);
    return by_raw > 0 ? 1e6 * (by_tsc - by_raw) / by_raw : 0.0;
}

tsc_clock clock_start(double hz) {
    // 2^40: a part in 10^11 at 1 GHz, and room for ticks as long as 16 ms
    constexpr unsigned shift = 40;
    const double ns_per_tick = 1e9 / hz;
    return {now(), ns_per_tick, static_cast<uint64_t>(ns_per_tick * (uint64_t{1} << shift) + 0.5), shift};
}

}  // namespace wt
