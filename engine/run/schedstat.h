// How the kernel has treated a thread: its line in /proc (Documentation/scheduler/sched-stats.rst).
#pragma once

#include <cstdint>
#include <optional>

namespace wt {

struct sched_times {
    uint64_t on_cpu_ns = 0;
    uint64_t preempted_ns = 0;  // runnable but not on its CPU; a wait counts once it is over
};

// Of a thread of this process, since its start; nothing where the kernel does not say.
std::optional<sched_times> schedstat_of(int tid);

}  // namespace wt
