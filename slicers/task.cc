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
#include <sstream>
#include <string>

#include "core/refusal.h"
#include "core/run_on_cpu.h"

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
    if (!run_on_cpu(cpu))
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

task_file::task_file(int tid, const char *name)
    : descriptor_(open(("/proc/" + std::to_string(tid) + "/" + name).c_str(), O_RDONLY | O_CLOEXEC)) {}

void task_file::close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

std::string_view task_file::read(std::span<char> room) const {
    const ssize_t size = descriptor_ < 0 ? -1 : pread(descriptor_, room.data(), room.size(), 0);
    return {room.data(), size < 0 ? 0 : static_cast<size_t>(size)};
}

// The fields of a stat from the third on; a name, the second, may contain a ")".
static std::string_view after_name(std::string_view stat) {
    const size_t end = stat.rfind(')');
    return end == stat.npos || end + 2 > stat.size() ? std::string_view() : stat.substr(end + 2);
}

task_state::task_state(int tid, uint64_t started) : file_(tid, "stat") {
    char room[512];
    std::istringstream fields{std::string(after_name(file_.read(room)))};
    std::string field;
    for (int number = 3; number <= 22; number++) fields >> field;
    if (!fields || field != std::to_string(started)) file_.close();
}

char task_state::letter() const {
    char room[128];  // up to the third field
    const std::string_view rest = after_name(file_.read(room));
    return rest.empty() ? 'X' : rest.front();
}

bool task_state::runs() const { return letter() == 'R'; }

bool task_state::lives() const {
    const char now = letter();
    return now != 'X' && now != 'Z';
}

task_times::task_times(int tid, uint64_t started) : file_(tid, "schedstat") {
    // opened before: where it is that thread now, the file is that thread's
    if (!task_state(tid, started).lives()) file_.close();
}

std::optional<ran> task_times::read() const {
    char room[128];
    const std::string text(file_.read(room));
    ran found;
    if (std::sscanf(text.c_str(), "%" SCNu64 " %" SCNu64 " %" SCNu64, &found.on_cpu_ns, &found.waited_ns,
                    &found.times) != 3)
        return {};
    return found;
}

}  // namespace wt
