#include "slicers/task.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

#include "core/run_on_cpu.h"

namespace wt {

constexpr int raised_policy = SCHED_FIFO | SCHED_RESET_ON_FORK;

// False where there is no such thread.
static bool done(int result, int tid, const std::string &what) {
    if (result == 0) return true;
    if (errno == ESRCH) return false;
    throw thread_refusal(
        tid,
        refusal("thread " + std::to_string(tid) + " cannot be given " + what + ": " + std::strerror(errno),
                errno == EPERM
                    ? "this needs CAP_SYS_NICE; with RT_GROUP_SCHED the thread's cgroup also needs a "
                      "real-time budget (cpu.rt_runtime_us)"
                    : ""));
}

static bool schedule(int tid, int policy, int priority) {
    const sched_param parameter = {priority};
    return done(sched_setscheduler(tid, policy, &parameter), tid, priority ? "SCHED_FIFO" : "SCHED_OTHER");
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

void open_many_files() {
    rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

// Below task/: /proc/TID/stat alone would sum up all threads of the process, 30 us with a thousand of them.
task_file::task_file(int tid, const char *name)
    : descriptor_(open(("/proc/" + std::to_string(tid) + "/task/" + std::to_string(tid) + "/" + name).c_str(),
                       O_RDONLY | O_CLOEXEC)) {}

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

task::task(int tid, uint64_t started) : tid_(tid), name_(tid, "comm"), state_(tid, "stat") {
    char room[512];
    std::istringstream fields{std::string(after_name(state_.read(room)))};
    std::string field;
    for (int number = 3; number <= 22; number++) fields >> field;
    if (fields && field == std::to_string(started)) return;
    name_.close();
    state_.close();
}

char task::letter() const {
    char room[128];  // up to the third field
    const std::string_view rest = after_name(state_.read(room));
    return rest.empty() ? 'X' : rest.front();
}

bool task::runs() const { return letter() == 'R'; }

bool task::lives() const {
    const char now = letter();
    return now != 'X' && now != 'Z';
}

bool task::has_number() const {
    char room[32];
    return !name_.read(room).empty();
}

bool task::raise() const { return has_number() && schedule(tid_, raised_policy, raised_priority); }

bool task::lower() const { return has_number() && schedule(tid_, SCHED_OTHER, 0); }

bool task::set_nice(int nice) const {
    return has_number() && done(setpriority(PRIO_PROCESS, static_cast<id_t>(tid_), nice), tid_,
                                "nice " + std::to_string(nice));
}

// The number of its process; 0 where it has ended.
static int process_of(int tid) {
    char room[512];  // the name before it may have 64 bytes
    const std::string status(task_file(tid, "status").read(room));
    const size_t at = status.find("\nTgid:");
    return at == status.npos ? 0 : std::atoi(status.c_str() + at + 6);
}

first_thread::first_thread(int tid) : tid_(process_of(tid)), name_(tid_, "comm") {}

void first_thread::lower() const {
    char room[32];
    sched_param parameter = {0};
    if (!tid_ || name_.read(room).empty()) return;
    if (sched_getscheduler(tid_) != raised_policy || sched_getparam(tid_, &parameter) != 0) return;
    if (parameter.sched_priority == raised_priority) schedule(tid_, SCHED_OTHER, 0);
}

task_times::task_times(int tid, uint64_t started) : file_(tid, "schedstat") {
    // opened before: where it is that thread now, the file is that thread's
    if (!task(tid, started).lives()) file_.close();
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
