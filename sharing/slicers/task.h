// Threads of this machine: their policy and nice value, what they ran, and where we run ourselves.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/refusal.h"

namespace wt {

// Of the thread that shares the core; above it are the kernel's own, below it the one tenant that is raised.
constexpr int slicer_priority = 90;
constexpr int raised_priority = 1;

// The calling thread: SCHED_FIFO with slicer_priority on one CPU. Throws refusal.
void become_slicer(int cpu);
// The calling thread, which works little: before every tenant, raised or not. False where that is not
// permitted.
bool go_before_tenants();
// The calling thread: on every CPU that it may use but this one, if there is another. Returns whether there
// is.
bool stay_off(int cpu);

int own_tid();

// This process may have as many files open as it may allow itself: four for each member.
void open_many_files();

struct ran {
    uint64_t on_cpu_ns = 0, waited_ns = 0, times = 0;
};

// A file of a thread, /proc/TID/task/TID/NAME, kept open. It stays that thread's: where the number is another
// thread's by now, reading it fails.
class task_file {
  public:
    task_file(int tid, const char *name);
    task_file(task_file &&other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    task_file &operator=(task_file &&other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~task_file() { close(); }
    // The beginning of the file; empty where the thread has ended, or the kernel does not tell.
    std::string_view read(std::span<char> room) const;
    void close();

  private:
    int descriptor_;
};

// One thread cannot be changed: the others of a core are none the worse for it.
class thread_refusal : public refusal {
  public:
    thread_refusal(int tid, const refusal &why) : refusal(why), tid_(tid) {}
    int tid() const { return tid_; }

  private:
    int tid_;
};

// The thread of this number that started at this clock tick since boot. What is done to it is done to no
// later thread of its number.
class task {
  public:
    task(int tid, uint64_t started);
    bool runs() const;   // or could; false where it sleeps, is stopped, or has ended
    bool lives() const;  // it has not ended
    // All return false where the number is not this thread's any more. They throw thread_refusal where
    // it is not permitted.
    bool raise() const;  // SCHED_FIFO; what it forks is ordinary again
    bool lower() const;  // SCHED_OTHER; nice value and slice stay
    bool set_nice(int nice) const;

  private:
    char letter() const;
    bool has_number() const;

    int tid_;
    task_file name_;   // comm: a microsecond for each read, a quarter of stat's
    task_file state_;  // stat (proc_pid_stat(5))
};

// The first thread of a process, told by a thread of it. A thread that execs has its number and start from
// then on, and keeps its own policy: it may be the one that was raised.
class first_thread {
  public:
    explicit first_thread(int tid);
    void lower() const;  // SCHED_OTHER, if it has what task::raise gives. Throws thread_refusal where it is
                         // not permitted.

  private:
    int tid_;
    task_file name_;
};

// schedstat (Documentation/scheduler/sched-stats.rst) of such a thread.
class task_times {
  public:
    task_times(int tid, uint64_t started);
    std::optional<ran> read() const;  // nothing where the thread has ended, or the kernel does not tell

  private:
    task_file file_;
};

}  // namespace wt
