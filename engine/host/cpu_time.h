// What others took from a thread and a CPU (preemption, steal), and what the kernel did for a thread.
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

// What the kernel did for a thread (proc_pid_stat(5)), since its start.
struct kernel_work {
    uint64_t system_ns = 0;     // its system calls and page faults, sampled by the timer, in steps of 10 ms
    uint64_t minor_faults = 0;  // pages that were in memory already, or had to be cleared
    uint64_t major_faults = 0;  // pages that were read from a disk
};

// Of a thread of this process; nothing where the kernel does not say.
std::optional<kernel_work> kernel_work_of(int tid);

// Steal of each of these CPUs since the boot, ns, in steps of a clock tick (10 ms). All 0 where the kernel
// reports none, as on bare metal.
std::vector<uint64_t> steal_ns(const std::vector<int> &cpus);

}  // namespace wt
