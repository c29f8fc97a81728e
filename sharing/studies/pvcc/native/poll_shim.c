/* Makes a program that blocks for events poll for them instead: preloaded (LD_PRELOAD), it turns each wait of
 * epoll_wait, epoll_pwait, poll, ppoll, select and pselect into calls with a time-out of 0, until there is an
 * event or the time that the program asked for is over.
 *
 * The program sees what it would have seen: nginx takes a wait without end that returns nothing for an error,
 * so a time-out of 0 alone would not do. A call with a time-out of 0 is never interrupted by a signal;
 * programs that wait for a flag of their signal handler get EINTR every PATIENCE_NS of a wait without end
 * instead.
 *
 * WINDTUNNEL_POLL_THREADS: beginning of the names of the threads that poll; others wait as they are
 * (memcached's listener). Without it, all poll. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <time.h>

#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

enum { MS = 1000000 };
static const int64_t SECOND = 1000000000, PATIENCE_NS = 100000000, FOR_EVER = -1;

static __typeof__(&epoll_pwait) real_epoll_pwait;
static __typeof__(&ppoll) real_ppoll;
static __typeof__(&pselect) real_pselect;
static const char *threads;

__attribute__((constructor)) static void find_the_real_ones(void) {
    real_epoll_pwait = REAL(epoll_pwait);
    real_ppoll = REAL(ppoll);
    real_pselect = REAL(pselect);
    threads = getenv("WINDTUNNEL_POLL_THREADS");
}

/* A thread with another name is checked again at its next wait: it may not be named yet. */
static int polls(void) {
    static __thread int yes;
    if (!yes) {
        char name[16] = "";
        prctl(PR_GET_NAME, name);
        yes = !threads || strncmp(name, threads, strlen(threads)) == 0;
    }
    return yes;
}

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

struct wait {
    int64_t asked, since; /* ns; FOR_EVER */
};

static struct wait begin(int64_t asked) { return (struct wait){asked, asked == 0 ? 0 : now()}; }

/* Whether to poll again. Else `*found`, the result of the last call, is what the program gets. */
static int goes_on(const struct wait *w, int *found) {
    if (*found != 0 || w->asked == 0) return 0;
    const int64_t waited = now() - w->since;
    if (w->asked != FOR_EVER) return waited < w->asked;
    if (waited < PATIENCE_NS) return 1;
    errno = EINTR;
    *found = -1;
    return 0;
}

static int64_t of_timespec(const struct timespec *t) {
    return t ? t->tv_sec * SECOND + t->tv_nsec : FOR_EVER;
}

int epoll_pwait(int set, struct epoll_event *events, int most, int timeout_ms, const sigset_t *mask) {
    if (!polls()) return real_epoll_pwait(set, events, most, timeout_ms, mask);
    const struct wait w = begin(timeout_ms < 0 ? FOR_EVER : (int64_t)timeout_ms * MS);
    int found;
    do found = real_epoll_pwait(set, events, most, 0, mask);
    while (goes_on(&w, &found));
    return found;
}

int epoll_wait(int set, struct epoll_event *events, int most, int timeout_ms) {
    return epoll_pwait(set, events, most, timeout_ms, NULL);
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask) {
    if (!polls()) return real_ppoll(fds, count, timeout, mask);
    const struct wait w = begin(of_timespec(timeout));
    const struct timespec none = {0, 0};
    int found;
    do found = real_ppoll(fds, count, &none, mask);
    while (goes_on(&w, &found));
    return found;
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms) {
    const struct timespec t = {timeout_ms / 1000, (long)(timeout_ms % 1000) * MS};
    return ppoll(fds, count, timeout_ms < 0 ? NULL : &t, NULL);
}

static void copy(fd_set *to, const fd_set *from) {
    if (to) *to = *from;
}

int pselect(int count, fd_set *in, fd_set *out, fd_set *bad, const struct timespec *timeout,
            const sigset_t *mask) {
    if (!polls()) return real_pselect(count, in, out, bad, timeout, mask);
    const struct wait w = begin(of_timespec(timeout));
    const struct timespec none = {0, 0};
    fd_set asked[3]; /* each call leaves in the sets what it found */
    FD_ZERO(&asked[0]);
    FD_ZERO(&asked[1]);
    FD_ZERO(&asked[2]);
    if (in) asked[0] = *in;
    if (out) asked[1] = *out;
    if (bad) asked[2] = *bad;
    int found;
    do {
        copy(in, &asked[0]);
        copy(out, &asked[1]);
        copy(bad, &asked[2]);
        found = real_pselect(count, in, out, bad, &none, mask);
    } while (goes_on(&w, &found));
    return found;
}

int select(int count, fd_set *in, fd_set *out, fd_set *bad, struct timeval *timeout) {
    const struct timespec t =
        timeout ? (struct timespec){timeout->tv_sec, timeout->tv_usec * 1000} : (struct timespec){0, 0};
    return pselect(count, in, out, bad, timeout ? &t : NULL, NULL);
}
