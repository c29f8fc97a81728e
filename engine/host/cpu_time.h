// What the scheduler and the hypervisor took from a CPU: preemption of a thread, steal of a CPU.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace wt {

// A thread's line in /proc (Documentation/scheduler/sched-stats.rst).
struct sched_times {
    uint64_t on_cpu_ns = 0;
    uint64_t preempted_ns = 0;  // runnable but not on its CPU; a wait counts once it is over
};

// Of a thread of this process, since its start; nothing where the kernel does not say.
std::optional<sched_times> schedstat_of(int tid);

// Steal of each of these CPUs since the boot, ns, in steps of a clock tick (10 ms). All 0 where the kernel
// reports none, as on bare metal.
std::vector<uint64_t> steal_ns(const std::vector<int> &cpus);

}  // namespace wt
