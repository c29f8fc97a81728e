// Log-linear histograms: values below 2^Bits are exact, above that every power of two has 2^(Bits-1) buckets.
//
// With Bits = 11 and Powers = 36 this is HdrHistogram's layout for 3 significant digits, up to 68 s in ns.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace wt {

template <unsigned Bits, unsigned Powers>
struct histogram {
    static constexpr unsigned bits = Bits;
    static constexpr uint32_t half = 1u << (Bits - 1);
    static constexpr uint32_t buckets = (1u << Bits) + (Powers - Bits) * half;
    // larger values are recorded as this one
    static constexpr uint64_t largest = (uint64_t{1} << Powers) - 1;

    uint64_t total, sum, min, max;
    // 32 bits would wrap within minutes: a stage is called 30 million times a second
    uint64_t counts[buckets];

    static constexpr uint32_t bucket_of(uint64_t value) {
        const unsigned width = 64 - std::countl_zero(value | 1);
        if (width <= Bits) return static_cast<uint32_t>(value);
        const unsigned shift = width - Bits;
        return shift * half + static_cast<uint32_t>(value >> shift);
    }

    static constexpr uint64_t lowest_of(uint32_t bucket) {
        if (bucket < (1u << Bits)) return bucket;
        const uint32_t shift = bucket / half - 1;
        return static_cast<uint64_t>(bucket - shift * half) << shift;
    }

    void clear() {
        std::memset(counts, 0, sizeof counts);
        total = sum = max = 0;
        min = UINT64_MAX;
    }

    void add(uint64_t value, uint32_t times = 1) {
        const uint64_t v = value > largest ? largest : value;
        counts[bucket_of(v)] += times;
        add_extent(times, value * times, value, value);
    }

    // What several values have in common; their buckets are counted apart.
    void add_extent(uint64_t values, uint64_t their_sum, uint64_t least, uint64_t most) {
        total += values;
        sum += their_sum;
        if (least < min) min = least;
        if (most > max) max = most;
    }
};

using latency_histogram = histogram<11, 36>;  // ns, to 68 s, 3 significant digits: 216 KiB
using batch_histogram = histogram<5, 34>;     // ticks of a stage's batch, to seconds, within 6.25%
static_assert(sizeof(batch_histogram) <= 4096);

}  // namespace wt
