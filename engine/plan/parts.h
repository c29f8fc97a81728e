// Between the files that read a plan: what all of them need, and the parts that have a file of their own.
#pragma once

#include "plan/json_reader.h"
#include "plan/plan.h"

namespace wt {

template <typename T>
T whole(const json_value &v) {
    return v.whole<T>();
}

// Eleven days: the sum of some thousands, and the same in ticks of a clock, fits 63 bits.
constexpr uint64_t longest_ns = 1'000'000'000'000'000;

// A time in nanoseconds; `length` is one that is not 0.
inline uint64_t duration(const json_value &v) {
    return v.whole<uint64_t>(0, longest_ns);
}

inline uint64_t length(const json_value &v) {
    return v.whole<uint64_t>(1, longest_ns);
}

inline std::string text(const json_value &v) {
    return v.text();
}

template <typename Enum, typename Words>
Enum word(const json_value &v, const Words &words) {
    return static_cast<Enum>(v.word(words));
}

endpoint_plan read_endpoint(const json_value &v);
workload_plan read_workload(const json_value &v);

}  // namespace wt
