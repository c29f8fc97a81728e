/* windtunnel-inject PID LIBRARY: loads the probe into a process that runs, by one of DPDK's own threads that
 * is asleep. No thread of the data path is stopped, and nothing is left behind if this program is killed, at
 * whatever moment. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "call.h"
#include "foreign.h"
#include "page.h"
#include "refusal.h"
#include "sleeper.h"
#include "target.h"

enum { PATIENCE_NS = 1000000000, PATIENCE_S = 10, POLL_NS = 50000, LOAD_NOW = 2 /* RTLD_NOW */ };

_Noreturn void wt_refuse(const char *remedy, const char *sentence, ...) {
    va_list values;
    va_start(values, sentence);
    fputs("error: ", stderr);
    vfprintf(stderr, sentence, values);
    fprintf(stderr, "\n  %s\n", remedy);
    va_end(values);
    exit(2);
}

/* What the probe's page says up to its control block. It is read and not mapped: the process may make it
 * shorter. */
static struct wt_attach_page page;

/* The page of the probe in that process; -1: there is none. */
static int open_page(pid_t pid) {
    static const char name[] = "/memfd:" WT_ATTACH_NAME " ";
    int file = -1;
    char path[64], link[300], target[64];
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *const folder = opendir(path);
    for (struct dirent *entry; folder && file < 0 && (entry = readdir(folder));) {
        snprintf(link, sizeof link, "%s/%.200s", path, entry->d_name);
        const ssize_t length = readlink(link, target, sizeof target);
        if (length < (ssize_t)sizeof name - 1 || memcmp(target, name, sizeof name - 1) != 0) continue;
        file = wt_open_memfd(link);
    }
    if (folder) closedir(folder);
    return file;
}

static bool is_ready(int file) {
    const ssize_t bytes = offsetof(struct wt_attach_page, control);
    return file >= 0 && pread(file, &page, (size_t)bytes, 0) == bytes && page.magic == WT_ATTACH_MAGIC;
}

/* The refusal is the process's text: it may have no end, and what a terminal would obey. */
static void check_page(pid_t pid) {
    if (page.abi != WT_ATTACH_ABI || page.bytes != sizeof page)
        wt_refuse("start the application again", "process %d has the probe of another version", pid);
    page.refusal[sizeof page.refusal - 1] = 0;
    for (char *c = page.refusal; *c; c++)
        if (*c < ' ' || *c > '~') *c = '?';
    if (page.state == WT_ATTACH_REFUSED)
        wt_refuse("observe it by its telemetry alone", "the probe in process %d refuses: %s", pid,
                  page.refusal);
}

/* The target opens the file by its own root: a container has other files by the same name. */
static void check_library(pid_t pid, const char *library) {
    char path[PATH_MAX + 64];
    struct stat here, there;
    snprintf(path, sizeof path, "/proc/%d/root%s", pid, library);
    const int mine = open(library, O_RDONLY | O_CLOEXEC), its = wt_open_regular(path);
    if (mine < 0 || fstat(mine, &here))
        wt_refuse("build it: ninja -C build attach/libwindtunnel-attach.so", "%s: %s", library,
                  strerror(errno));
    bool same = its >= 0 && fstat(its, &there) == 0 && there.st_size == here.st_size;
    char bytes[2][4096];
    for (ssize_t got; same && (got = read(mine, bytes[0], sizeof bytes[0])) > 0;)
        same = read(its, bytes[1], (size_t)got) == got && !memcmp(bytes[0], bytes[1], (size_t)got);
    close(mine);
    if (its >= 0) close(its);
    if (!same)
        wt_refuse("copy it to the same path in the container of the process",
                  "process %d has other files than this one, and not the same %s", pid, library);
}

/* dlopen() in the C library, or what had its place before glibc 2.34. */
static uint64_t find_loader(const struct wt_target *target, const struct wt_mapped *libc) {
    struct wt_mapped older;
    uint64_t function = wt_find_function(target, libc->base, "dlopen");
    if (!function && wt_find_mapped(target, "libdl.so.2", &older))
        function = wt_find_function(target, older.base, "dlopen");
    return function ? function : wt_find_function(target, libc->base, "__libc_dlopen_mode");
}

static struct wt_mapped find_libc(const struct wt_target *target) {
    struct wt_mapped libc;
    if (!wt_find_mapped(target, "libc.so.6", &libc) && !wt_find_mapped(target, "libc-2.", &libc))
        wt_refuse("observe it by its telemetry alone",
                  "process %d has no glibc that is loaded: it is static, or has another C library",
                  target->pid);
    return libc;
}

/* What is to be called: the loader, or what starts the probe anew in the child of a process that had it. */
static uint64_t find_function(const struct wt_target *target, const struct wt_mapped *libc,
                              const char *library) {
    struct wt_mapped loaded;
    const bool there = wt_find_mapped(target, strrchr(library, '/') + 1, &loaded);
    const uint64_t function =
        there ? wt_find_function(target, loaded.base, "windtunnel_attach_start") : find_loader(target, libc);
    if (!function)
        wt_refuse(WT_RESTART, "process %d has no %s", target->pid,
                  there ? "probe of this version" : "dlopen()");
    return function;
}

/* What the thread is to call, and what it returns by. */
struct ways {
    uint64_t function, restorer;
};
static struct ways find_ways(const struct wt_target *target, const char *library) {
    static const unsigned char restore[] = {0x48, 0xc7, 0xc0, 0x0f, 0,
                                            0,    0,    0x0f, 0x05}; /* mov $15, %rax; syscall */
    const struct wt_mapped libc = find_libc(target);
    const struct ways ways = {.function = find_function(target, &libc, library),
                              .restorer = wt_find_bytes(target, &libc, restore, sizeof restore)};
    if (!ways.restorer)
        wt_refuse(WT_RESTART, "the C library of process %d has no code to return from a signal", target->pid);
    return ways;
}

/* Polls until the probe is there and the thread sleeps again. Returns the ns that it was away from its system
 * call. */
static uint64_t wait_for_probe(const struct wt_target *target, const struct wt_sleeper *sleeper) {
    const uint64_t end = wt_now_ns() + PATIENCE_S * 1000000000ull;
    int file = -1;
    uint64_t slept_ns = 0;
    while (wt_now_ns() < end) {
        if (!slept_ns && wt_sleeps_again(target, sleeper)) slept_ns = wt_now_ns();
        if (slept_ns && file < 0) file = open_page(target->pid);
        if (slept_ns && is_ready(file)) {
            check_page(target->pid);
            return slept_ns - sleeper->interrupted_ns;
        }
        if (kill(target->pid, 0) && errno == ESRCH)
            wt_refuse("start it again", "process %d ended meanwhile", target->pid);
        if (slept_ns && file < 0 && wt_now_ns() - slept_ns > PATIENCE_NS) break;
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
    }
    wt_refuse("look whether its file system is mounted noexec; or " WT_RESTART,
              slept_ns ? "the loader of process %d did not take the library"
                       : "the loader of process %d has not come back yet",
              target->pid);
}

int main(int count, char **arguments) {
    char library[PATH_MAX], *end = NULL;
    const long pid = count == 3 ? strtol(arguments[1], &end, 10) : 0;
    if (count != 3 || *end || pid <= 0 || pid > INT_MAX)
        wt_refuse("windtunnel-inject PID LIBRARY", "a process and the probe's file are needed");
    if (!realpath(arguments[2], library))
        wt_refuse("build it: ninja -C build attach/libwindtunnel-attach.so", "%s: %s", arguments[2],
                  strerror(errno));
    struct wt_target target = wt_open_target((pid_t)pid);
    if (is_ready(open_page(target.pid))) {
        check_page(target.pid);
        printf("process %ld has the probe already\n", pid);
        return 0;
    }
    check_library(target.pid, library);
    find_ways(&target, library); /* nothing is stopped that has none */

    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before); /* Ctrl-C waits until the thread is let go */
    const struct wt_sleeper sleeper = wt_stop_sleeper(&target);
    wt_reopen_memory(&target, sleeper.tid);
    const struct ways ways = find_ways(&target, library);
    wt_call(&target, &sleeper, ways.function, ways.restorer, library, LOAD_NOW);
    const uint64_t let_go = wt_now_ns();
    sigprocmask(SIG_SETMASK, &before, NULL);

    const uint64_t away = wait_for_probe(&target, &sleeper);
    printf("process %ld has the probe: its thread %s (%d) was away for %lu us, stopped for %lu us of them\n",
           pid, sleeper.name, sleeper.tid, away / 1000, (let_go - sleeper.interrupted_ns) / 1000);
    return 0;
}
