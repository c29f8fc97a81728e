/* windtunnel-batch: a batch job whose work is counted.
 *
 *   windtunnel-batch [LIMIT] [WINDOW_MS]
 *
 * An event is sysbench's: find all primes up to LIMIT (10000) by trial division. A line of JSON every
 * WINDOW_MS (100) and at the end (SIGTERM): events since the start, the thread's own CPU time, the time by
 * the clock, ns. */
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t asked_to_stop;

static void stop(int signal) {
    (void)signal;
    asked_to_stop = 1;
}

static int64_t read_clock(clockid_t which) {
    struct timespec t;
    clock_gettime(which, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t primes(uint64_t limit) {
    uint64_t found = 0;
    for (uint64_t c = 3; c < limit; ++c) {
        const double root = sqrt((double)c);
        uint64_t divisor = 2;
        while ((double)divisor <= root && c % divisor != 0) ++divisor;
        found += (double)divisor > root;
    }
    return found;
}

static int say(uint64_t events, uint64_t primes_each) {
    const int n = printf("{\"at_ns\": %lld, \"events\": %llu, \"cpu_ns\": %lld, \"primes\": %llu}\n",
                         (long long)read_clock(CLOCK_MONOTONIC), (unsigned long long)events,
                         (long long)read_clock(CLOCK_THREAD_CPUTIME_ID), (unsigned long long)primes_each);
    return n > 0 && fflush(stdout) == 0;
}

static long number(int count, char **words, int i, long otherwise, long most) {
    if (i >= count) return otherwise;
    char *end;
    const long n = strtol(words[i], &end, 10);
    if (end != words[i] && *end == '\0' && n >= 4 && n <= most) return n;
    fprintf(stderr, "windtunnel-batch: %s is not a number from 4 to %ld\n", words[i], most);
    exit(2);
}

int main(int count, char **words) {
    const uint64_t limit = (uint64_t)number(count, words, 1, 10000, 1000000);
    const int64_t window = number(count, words, 2, 100, 60000) * 1000000;
    signal(SIGTERM, stop);
    uint64_t events = 0, found = 0;
    int64_t next = read_clock(CLOCK_MONOTONIC);
    while (!asked_to_stop) {
        if (read_clock(CLOCK_MONOTONIC) >= next) {
            if (!say(events, found)) return 1; /* the reader is gone */
            next += window;
        }
        found = primes(limit);
        ++events;
    }
    return say(events, found) ? 0 : 1;
}
