// Threads of this machine: their policy and nice value, what they ran, and where we run ourselves.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace wt {

// Of the thread that shares the core; above it are the kernel's own, below it the one tenant that is raised.
constexpr int slicer_priority = 90;
constexpr int raised_priority = 1;

// All return false where the thread has ended. They throw refusal where it is not permitted.
bool raise_task(int tid);  // SCHED_FIFO; what it forks is ordinary again
bool lower_task(int tid);  // SCHED_OTHER; nice value and slice stay
bool set_nice(int tid, int nice);

// The calling thread: SCHED_FIFO with slicer_priority on one CPU. Throws refusal.
void become_slicer(int cpu);
// The calling thread, which works little: before every tenant, raised or not. False where that is not
// permitted.
bool go_before_tenants();
// The calling thread: on every CPU that it may use but this one, if there is another. Returns whether there
// is.
bool stay_off(int cpu);

int own_tid();

struct ran {
    uint64_t on_cpu_ns = 0, waited_ns = 0, times = 0;
};

// /proc/TID/schedstat, kept open (Documentation/scheduler/sched-stats.rst).
class task_times {
  public:
    explicit task_times(int tid);
    task_times(task_times &&other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
    task_times(const task_times &) = delete;
    task_times &operator=(const task_times &) = delete;
    task_times &operator=(task_times &&) = delete;
    ~task_times();
    std::optional<ran> read() const;  // nothing where the thread has ended, or the kernel does not tell

  private:
    int descriptor_;
};

// /proc/TID/stat, kept open from the first look (proc_pid_stat(5)).
class task_state {
  public:
    explicit task_state(int tid) : tid_(tid) {}
    task_state(task_state &&other) noexcept : tid_(other.tid_), descriptor_(other.descriptor_) {
        other.descriptor_ = -1;
    }
    task_state &operator=(task_state &&other) noexcept {
        std::swap(tid_, other.tid_);
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    task_state(const task_state &) = delete;
    task_state &operator=(const task_state &) = delete;
    ~task_state();
    int tid() const { return tid_; }
    bool runs();  // or could; false where it sleeps, is stopped, or has ended

  private:
    int tid_, descriptor_ = -1;
};

}  // namespace wt
