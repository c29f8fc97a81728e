/* Only threads that DPDK makes for itself are stopped: a thread of the data path never is. Asleep in
 * accept(), recvmsg() or epoll_wait() they hold no lock, so that what they are made to call cannot wait for
 * themselves. */
#include "sleeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "refusal.h"

/* The kernel's own errors, which a stopped system call has and no program sees. */
enum { ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514 };
enum { TRIES = 200, PAUSE_NS = 1000000, PATIENCE_S = 10, POLL_NS = 20000, STACK_NEEDED = 96 << 10 };

/* As DPDK 21.11 to 26.07 call them, the least busy one first. */
static const char *const names[] = {"telemetry-v2", "dpdk-telemet",    "rte_mp_handle",
                                    "dpdk-mp-msg",  "eal-intr-thread", "dpdk-intr"};
static const long long calls[] = {SYS_accept, SYS_accept4, SYS_recvmsg, SYS_epoll_wait, SYS_epoll_pwait};

uint64_t wt_now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* The system call that it is in and its stack, as the kernel shows them without stopping it. */
static bool read_call(pid_t pid, pid_t tid, long long *call, uint64_t *stack) {
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", pid, tid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const bool got = file >= 0 && read(file, text, sizeof text - 1) > 0;
    if (file >= 0) close(file);
    return got && sscanf(text, "%lld %*s %*s %*s %*s %*s %*s %lx", call, stack) == 2;
}

static bool is_repeatable(long long call) {
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (call == calls[i]) return true;
    return false;
}

/* Whether it is asleep there, with a stack that has room for what it will be asked to do. */
static bool is_fit(const struct wt_target *target, pid_t tid) {
    long long call;
    uint64_t stack;
    return read_call(target->pid, tid, &call, &stack) && is_repeatable(call) &&
           wt_bytes_below(target, stack) >= STACK_NEEDED;
}

bool wt_sleeps_again(const struct wt_target *target, const struct wt_sleeper *sleeper) {
    long long call;
    uint64_t stack;
    return read_call(target->pid, sleeper->tid, &call, &stack) && stack == sleeper->registers.rsp &&
           is_repeatable(call);
}

/* The thread of that name, asleep; 0: there is none. */
static pid_t find_sleeper(const struct wt_target *target, const char *name) {
    char path[64], comm[32];
    pid_t tid = 0;
    snprintf(path, sizeof path, "/proc/%d/task", target->pid);
    DIR *const tasks = opendir(path);
    for (struct dirent *entry; tasks && !tid && (entry = readdir(tasks));) {
        char file[128];
        snprintf(file, sizeof file, "%s/%.20s/comm", path, entry->d_name);
        FILE *const open = fopen(file, "re");
        if (!open) continue;
        const pid_t candidate = atoi(entry->d_name);
        if (fgets(comm, sizeof comm, open) && !strncmp(comm, name, strlen(name)) && is_fit(target, candidate))
            tid = candidate;
        fclose(open);
    }
    if (tasks) closedir(tasks);
    return tid;
}

static void check_thread(pid_t pid, pid_t tid) {
    if (wt_status_of(pid, tid, "Seccomp:", NULL) == 2)
        wt_refuse(WT_RESTART, "process %d has a seccomp filter, which may kill it for the calls of a loader",
                  pid);
    if (wt_status_of(pid, tid, "x86_Thread_features:", "shstk") == 1)
        wt_refuse(WT_RESTART, "process %d has a shadow stack, on which no call can be put", pid);
}

static _Noreturn void refuse_ptrace(pid_t pid, int error) {
    const long tracer = wt_status_of(pid, pid, "TracerPid:", NULL);
    if (tracer > 0) wt_refuse("end that first", "process %d is traced by process %ld already", pid, tracer);
    FILE *const yama = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    const int scope = yama ? fgetc(yama) : '0';
    if (yama) fclose(yama);
    if (scope != '0')
        wt_refuse("be root, or set kernel.yama.ptrace_scope to 0; or " WT_RESTART,
                  "this host lets no process trace another one (kernel.yama.ptrace_scope is %c)", scope);
    wt_refuse("be the same user, or root; in a container, with CAP_SYS_PTRACE",
              "process %d may not be traced: %s", pid, strerror(error));
}

/* Waits for the stop that PTRACE_INTERRUPT asked for; signals that come before it are passed on. */
static void wait_for_stop(pid_t pid, pid_t tid) {
    const uint64_t end = wt_now_ns() + PATIENCE_S * 1000000000ull;
    for (;;) {
        int status = 0;
        const pid_t changed = waitpid(tid, &status, __WALL | WNOHANG);
        if (changed < 0 || (changed == tid && !WIFSTOPPED(status)))
            wt_refuse("start it again", "process %d ended meanwhile", pid);
        if (!changed && wt_now_ns() > end)
            wt_refuse("try it again", "a thread of process %d does not stop", pid);
        if (!changed)
            nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL); /* it may need this CPU to stop */
        if (!changed) continue;
        if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP) return;
        if (status >> 16 == PTRACE_EVENT_STOP)
            wt_refuse("let it go on (kill -CONT), and try it again", "process %d is stopped by a signal",
                      pid);
        ptrace(PTRACE_CONT, tid, NULL, status >> 16 ? 0 : WSTOPSIG(status));
    }
}

/* Whether it stopped within its system call, and that can be made once more as if nothing had been. A stop
 * ends epoll_wait() with EINTR, which a program would see; without a time limit it can be made once more,
 * too. */
static bool is_in_its_call(const struct user_regs_struct *registers) {
    const long long result = (long long)registers->rax, call = (long long)registers->orig_rax;
    if (!is_repeatable(call)) return false;
    if (result == -EINTR)
        return (call == SYS_epoll_wait || call == SYS_epoll_pwait) && (int)registers->r10 == -1;
    return result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND;
}

static bool stop(const struct wt_target *target, pid_t tid, struct wt_sleeper *sleeper) {
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
        if (errno != ESRCH) refuse_ptrace(target->pid, errno);
        return false;
    }
    sleeper->tid = tid;
    sleeper->interrupted_ns = wt_now_ns();
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    wait_for_stop(target->pid, tid);
    if (ptrace(PTRACE_GETREGS, tid, NULL, &sleeper->registers) == 0 && is_in_its_call(&sleeper->registers))
        return true;
    ptrace(PTRACE_DETACH, tid, NULL, NULL);
    return false;
}

struct wt_sleeper wt_stop_sleeper(const struct wt_target *target) {
    struct wt_sleeper sleeper = {0};
    for (unsigned try = 0; try < TRIES; try++) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            const pid_t tid = find_sleeper(target, names[i]);
            if (!tid) continue;
            check_thread(target->pid, tid);
            snprintf(sleeper.name, sizeof sleeper.name, "%s", names[i]);
            if (stop(target, tid, &sleeper)) return sleeper;
        }
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    wt_refuse(WT_RESTART,
              "process %d has no thread of DPDK's asleep in a system call (telemetry, mp-msg, intr)",
              target->pid);
}
