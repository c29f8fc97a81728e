#include "slicers/task.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

#include "core/refusal.h"

namespace wt {

// False where there is no such thread.
static bool done(int result, const std::string &what) {
    if (result == 0) return true;
    if (errno == ESRCH) return false;
    throw refusal(what + ": " + std::strerror(errno),
                  errno == EPERM
                      ? "this needs CAP_SYS_NICE; with RT_GROUP_SCHED the thread's cgroup also needs a "
                        "real-time budget (cpu.rt_runtime_us)"
                      : "");
}

static bool schedule(int tid, int policy, int priority) {
    const sched_param parameter = {priority};
    return done(
        sched_setscheduler(tid, policy, &parameter),
        "thread " + std::to_string(tid) + " cannot be given " + (priority ? "SCHED_FIFO" : "SCHED_OTHER"));
}

bool raise_task(int tid) { return schedule(tid, SCHED_FIFO | SCHED_RESET_ON_FORK, raised_priority); }

bool lower_task(int tid) { return schedule(tid, SCHED_OTHER, 0); }

bool set_nice(int tid, int nice) {
    return done(setpriority(PRIO_PROCESS, static_cast<id_t>(tid), nice),
                "thread " + std::to_string(tid) + " cannot be given nice " + std::to_string(nice));
}

void become_slicer(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(cpu), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        throw refusal("this process cannot run on CPU " + std::to_string(cpu) + ": " + std::strerror(errno));
    schedule(own_tid(), SCHED_FIFO | SCHED_RESET_ON_FORK, slicer_priority);
}

bool go_before_tenants() {
    const sched_param parameter = {raised_priority + 1};
    return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameter) == 0;
}

bool stay_off(int cpu) {
    cpu_set_t others;
    if (sched_getaffinity(0, sizeof others, &others) != 0) return false;
    CPU_CLR(static_cast<size_t>(cpu), &others);
    return CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0;
}

int own_tid() { return static_cast<int>(syscall(SYS_gettid)); }

task_times::task_times(int tid)
    : descriptor_(open(("/proc/" + std::to_string(tid) + "/schedstat").c_str(), O_RDONLY | O_CLOEXEC)) {}

task_times::~task_times() {
    if (descriptor_ >= 0) close(descriptor_);
}

std::optional<ran> task_times::read() const {
    char text[128];
    const ssize_t size = descriptor_ < 0 ? -1 : pread(descriptor_, text, sizeof text - 1, 0);
    if (size <= 0) return {};
    text[size] = '\0';
    ran found;
    if (std::sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &found.on_cpu_ns, &found.waited_ns,
                    &found.times) != 3)
        return {};
    return found;
}

task_state::~task_state() {
    if (descriptor_ >= 0) close(descriptor_);
}

bool task_state::runs() {
    if (descriptor_ < 0)
        descriptor_ = open(("/proc/" + std::to_string(tid_) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
    char text[256];
    const ssize_t size = descriptor_ < 0 ? -1 : pread(descriptor_, text, sizeof text - 1, 0);
    if (size <= 0) return false;
    text[size] = '\0';
    const char *name_end = std::strrchr(text, ')');  // a name may contain one
    return name_end && name_end[1] == ' ' && name_end[2] == 'R';
}

}  // namespace wt
