// A tenant of bench/sharing_slices.py that shares no code with Windtunnel: one thread polls, serves requests
// that it makes itself (Poisson), and measures itself; another one sleeps and wakes.
//
//   poll_tenant RATE SERVICE_NS SEED    prints its pid; reads "BEGIN_NS DURATION_NS" (CLOCK_MONOTONIC) on
//   stdin;
//                                       prints one JSON line and ends
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MOST 1000000
#define GAP_NS 10000

static _Atomic uint64_t begin_ns, end_ns;
static double rate;
static uint64_t service_ns;
static uint64_t latencies[MOST];

static uint64_t clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t gap(void) { return (uint64_t)(-log(1 - drand48()) / rate * 1e9); }

// What is longer than GAP_NS between two looks at the clock was not this thread's time.
static uint64_t look(uint64_t *before, uint64_t *own) {
    const uint64_t now = clock_ns();
    if (now - *before <= GAP_NS) *own += now - *before;
    *before = now;
    return now;
}

static void *poll_requests(void *unused) {
    uint64_t end, before, own = 0, polls = 0, served = 0;
    while (!(end = end_ns)) {
    }
    while ((before = clock_ns()) < begin_ns) {
    }
    for (uint64_t now = before, next = begin_ns + gap(); now < end; now = look(&before, &own)) {
        polls++;
        if (now < next) continue;
        const uint64_t done = own + service_ns;
        while (own < done) now = look(&before, &own);
        if (served < MOST) latencies[served++] = now - next;
        next += gap();
    }
    qsort(latencies, served, sizeof *latencies, compare);
    printf("{\"served\": %" PRIu64 ", \"polls\": %" PRIu64 ", \"own_ns\": %" PRIu64 ", \"p50_ns\": %" PRIu64
           ", \"p99_ns\": %" PRIu64 "}\n",
           served, polls, own, served ? latencies[served / 2] : 0,
           served ? latencies[served - 1 - served / 100] : 0);
    fflush(stdout);
    return unused;
}

static void *sleep_and_wake(void *unused) {
    for (;;) usleep(100000);
    return unused;
}

int main(int count, char **words) {
    if (count != 4) return 2;
    rate = atof(words[1]);
    service_ns = strtoull(words[2], NULL, 10);
    srand48(atol(words[3]));
    pthread_t poller, sleeper;
    if (pthread_create(&sleeper, NULL, sleep_and_wake, NULL)) return 1;
    if (pthread_create(&poller, NULL, poll_requests, NULL)) return 1;
    printf("%d\n", getpid());
    fflush(stdout);
    uint64_t begin, duration;
    if (scanf("%" SCNu64 " %" SCNu64, &begin, &duration) != 2) return 1;
    begin_ns = begin;
    end_ns = begin + duration;
    pthread_join(poller, NULL);
    return 0;
}
