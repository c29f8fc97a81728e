// Between the files that read a plan: what all of them need, and the parts that have a file of their own.
#pragma once

#include "plan/json_reader.h"
#include "plan/plan.h"

namespace wt {

template <typename T>
T whole(const json_value &v) {
    return v.whole<T>();
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
