#include "run/guard.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace wt {

namespace {

constexpr char mark[] = "WINDTUNNEL_STARTED_BY";  // as in src/windtunnel/engine/descendants.py
constexpr int patience_ms = 3000;                 // for an orderly end, which the engine begins by itself

// Nothing of ours may stay open in the guard: a reader of the log would wait for its end.
void close_others(int engine, int control) {
    const auto [low, high] = std::minmax(engine, control);
    const auto close_all = [](int first, int last) {
        if (first <= last)
            syscall(SYS_close_range, static_cast<unsigned>(first), static_cast<unsigned>(last), 0U);
    };
    close_all(0, low - 1);
    close_all(low + 1, high - 1);
    close_all(high + 1, ~0U >> 1);
}

// What a plug-in has started in a session of its own is found by the variable that the supervisor gave the
// engine.
void kill_descendants() {
    const char *const value = getenv(mark);
    if (value == nullptr) return;
    const std::string variable = std::string(mark) + "=" + value;
    std::error_code ignored;
    for (const auto &entry : std::filesystem::directory_iterator("/proc", ignored)) {
        const int pid = std::atoi(entry.path().filename().c_str());
        if (pid <= 0 || pid == getpid()) continue;
        std::ifstream environment(entry.path() / "environ");
        for (std::string each; std::getline(environment, each, '\0');)
            if (each == variable) kill(pid, SIGKILL);
    }
}

[[noreturn]] void watch(int engine, int control) {
    prctl(PR_SET_NAME, "wt-guard");
    close_others(engine, control);
    pollfd watched[] = {{engine, POLLIN, 0}, {control, 0, 0}};  // of a pipe, its end is told unasked
    while (poll(watched, 2, -1) < 0 && errno == EINTR) {
    }
    if (watched[0].revents == 0) {
        while (poll(watched, 1, patience_ms) < 0 && errno == EINTR) {
        }
        if (watched[0].revents == 0) {
            kill_descendants();
            kill(0, SIGKILL);
        }
    }
    _exit(0);
}

}  // namespace

guard::guard(int control_descriptor) : pid_(-1) {
    const int engine = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
    if (engine >= 0) pid_ = fork();
    if (pid_ == 0) watch(engine, control_descriptor);
    if (pid_ < 0) std::fprintf(stderr, "no guard process: %s\n", std::strerror(errno));
    if (engine >= 0) close(engine);
}

guard::~guard() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
}

}  // namespace wt
