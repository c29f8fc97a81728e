// A tenant of bench/sharing_slices.py that shares no code with Windtunnel: one thread polls, serves requests
// that it makes itself (Poisson), and measures itself; another one sleeps and wakes.
//
//   poll_tenant RATE SERVICE_NS SEED    prints its pid; reads "BEGIN_NS DURATION_NS" (CLOCK_MONOTONIC) on stdin;
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

static _Atomic uint64_t begin_ns, end_ns;
static double rate;
static uint64_t service_ns;
static uint64_t latencies[MOST];

static uint64_t clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t gap(void) { return (uint64_t)(-log(1 - drand48()) / rate * 1e9); }

static void serve_one(uint64_t ns) {
    const uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until) {
    }
}

static void *poll_requests(void *unused) {
    uint64_t end, polls = 0, served = 0;
    while (!(end = end_ns)) {
    }
    while (clock_ns(CLOCK_MONOTONIC) < begin_ns) {
    }
    const uint64_t own_before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t next = begin_ns + gap(), now, own_after = 0;
    while ((now = clock_ns(CLOCK_MONOTONIC)) < end || next < end) {
        if (now >= end && !own_after) own_after = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        polls++;
        if (now < next || next >= end) continue;
        serve_one(service_ns);
        if (served < MOST) latencies[served++] = clock_ns(CLOCK_MONOTONIC) - next;
        next += gap();
    }
    if (!own_after) own_after = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    qsort(latencies, served, sizeof *latencies, compare);
    printf("{\"served\": %" PRIu64 ", \"polls\": %" PRIu64 ", \"own_ns\": %" PRIu64 ", \"p50_ns\": %" PRIu64
           ", \"p99_ns\": %" PRIu64 "}\n",
           served, polls, own_after - own_before, served ? latencies[served / 2] : 0,
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
