/* Each sleeps without a time limit until it is woken, and then looks whether it is as it was: a thread that
 * loaded the probe meanwhile may not tell. */
#include "control_threads.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { KINDS = 3 };
static const char *const names[KINDS] = {"telemetry-v2", "rte_mp_handle", "eal-intr-thread"};
static unsigned running, broken, seen[KINDS];
static int listening, pair[2], event, polling;

static bool sleep_once(unsigned kind) {
    char byte;
    uint64_t value;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct epoll_event ready;
    if (kind == 0) return close(accept(listening, NULL, NULL)) == 0;
    if (kind == 1) return recvmsg(pair[0], &message, 0) == 1;
    return epoll_wait(polling, &ready, 1, -1) == 1 && read(event, &value, sizeof value) == sizeof value;
}

static void *run_thread(void *kind) {
    const unsigned self = (unsigned)(uintptr_t)kind;
    sigset_t own, now;
    sigemptyset(&own);
    sigaddset(&own, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &own, NULL);
    fesetround(FE_UPWARD);
    for (;;) {
        const bool as_told = sleep_once(self);
        pthread_sigmask(SIG_SETMASK, NULL, &now);
        if (!as_told || fegetround() != FE_UPWARD || memcmp(&now, &own, 8) != 0)
            __atomic_fetch_add(&broken, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&seen[self], 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void wake(unsigned kind) {
    const uint64_t one = 1;
    if (kind == 0) {
        struct sockaddr_un address;
        socklen_t length = sizeof address;
        getsockname(listening, (struct sockaddr *)&address, &length);
        const int client = socket(AF_UNIX, SOCK_STREAM, 0);
        connect(client, (struct sockaddr *)&address, length);
        close(client);
    } else if (write(kind == 1 ? pair[1] : event, &one, kind == 1 ? 1 : sizeof one) < 0) {
        __atomic_fetch_add(&broken, 1, __ATOMIC_RELAXED);
    }
}

void start_control_threads(unsigned which) {
    running = which;
    listening = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(listening, (struct sockaddr *)&(struct sockaddr_un){.sun_family = AF_UNIX}, sizeof(sa_family_t));
    listen(listening, 1);
    socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
    event = eventfd(0, 0);
    polling = epoll_create1(0);
    epoll_ctl(polling, EPOLL_CTL_ADD, event, &(struct epoll_event){.events = EPOLLIN});
    for (unsigned kind = 0; kind < KINDS; kind++) {
        pthread_t thread;
        if (!(which >> kind & 1)) continue;
        pthread_create(&thread, NULL, run_thread, (void *)(uintptr_t)kind);
        pthread_setname_np(thread, names[kind]);
    }
}

unsigned wake_control_threads(void) {
    for (unsigned kind = 0; kind < KINDS; kind++) {
        const unsigned before = __atomic_load_n(&seen[kind], __ATOMIC_ACQUIRE);
        if (!(running >> kind & 1)) continue;
        wake(kind);
        while (__atomic_load_n(&seen[kind], __ATOMIC_ACQUIRE) == before) usleep(100);
    }
    return broken;
}
