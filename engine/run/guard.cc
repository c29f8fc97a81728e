#include "run/guard.h"

#include <dirent.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

namespace wt {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds patience{3000};     // for an orderly end, which the engine begins by itself
constexpr milliseconds longest_end{3000};  // of what cannot be killed: a program of another user, a stuck one
constexpr milliseconds forever{-1};

// Nothing of ours may stay open in the guard: a reader of the log would wait for its end.
void close_others(int control) {
    const auto close_all = [](unsigned first, unsigned last) {
        if (first <= last) syscall(SYS_close_range, first, last, 0U);
    };
    if (control < 0) return close_all(0, ~0U);
    if (control > 0) close_all(0, static_cast<unsigned>(control) - 1);
    close_all(static_cast<unsigned>(control) + 1, ~0U);
}

pid_t parent_of(const char *pid) {
    std::ifstream file(std::string("/proc/") + pid + "/stat");
    std::string text;
    std::getline(file, text, '\0');
    const size_t name_end = text.rfind(')');  // a name may have any character
    pid_t parent = 0;
    char state;
    if (name_end != std::string::npos) std::sscanf(text.c_str() + name_end + 1, " %c %d", &state, &parent);
    return parent;
}

// The number of a child is its own until it is waited for.
void kill_children() {
    DIR *const processes = opendir("/proc");
    if (processes == nullptr) return;
    while (const dirent *const entry = readdir(processes)) {
        const pid_t pid = std::atoi(entry->d_name);
        if (pid > 0 && parent_of(entry->d_name) == getpid()) kill(pid, SIGKILL);
    }
    closedir(processes);
}

class watch {
  public:
    explicit watch(pid_t engine) : engine_(engine) {
        sigset_t child_ended;
        sigemptyset(&child_ended);
        sigaddset(&child_ended, SIGCHLD);
        sigprocmask(SIG_BLOCK, &child_ended, &others_);
        std::signal(SIGCHLD, [](int) {});  // it ends a wait
    }

    // Until the engine has ended, the control pipe has, or this time is over.
    void wait(int control, milliseconds longest) {
        const auto end = steady_clock::now() + longest;
        for (;;) {
            take_ended();
            const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now()).count();
            if (engine_ended() || (longest != forever && left <= 0)) return;
            const timespec most = {left / 1000, left % 1000 * 1000000};
            pollfd watched = {control, 0, 0};  // of a pipe, its end is told unasked
            if (ppoll(&watched, 1, longest == forever ? nullptr : &most, &others_) > 0) return;
        }
    }

    bool engine_ended() const { return status_.has_value(); }

    // A child that ends leaves its children to the guard: the next look finds them.
    void end_all() {
        const auto end = steady_clock::now() + longest_end;
        while (!take_ended() && steady_clock::now() < end) {
            kill_children();
            poll(nullptr, 0, 1);
        }
    }

    [[noreturn]] void end_as_engine() const {
        const int status = status_.value_or(SIGKILL);
        if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
        const rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);  // the engine's own is there
        std::signal(WTERMSIG(status), SIG_DFL);
        kill(getpid(), WTERMSIG(status));
        _exit(128 + WTERMSIG(status));
    }

  private:
    // Whether none is left.
    bool take_ended() {
        int status;
        pid_t pid;
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
            if (pid == engine_) status_ = status;
        return pid < 0 && errno == ECHILD;
    }

    const pid_t engine_;
    std::optional<int> status_;
    sigset_t others_;  // signals that a wait takes
};

[[noreturn]] void guard(pid_t engine, int control) {
    prctl(PR_SET_NAME, "wt-guard");
    close_others(control);
    watch watched(engine);
    watched.wait(control, forever);
    if (!watched.engine_ended()) watched.wait(-1, patience);
    watched.end_all();
    watched.end_as_engine();
}

}  // namespace

void start_guard(int control_descriptor) {
    const pid_t parent = getpid();
    pid_t engine = -1;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0) engine = fork();
    if (engine > 0) guard(engine, control_descriptor);
    if (engine < 0) {
        std::fprintf(stderr, "no guard process: %s\n", std::strerror(errno));
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent) _exit(1);
}

}  // namespace wt
