#define _POSIX_C_SOURCE 199309L /* clock_gettime, with -std=c11 */
#include <time.h>
#include <unistd.h>

#include "good.h"

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Gives its CPU away for ever, half a second after the run has begun. */
static void sleep_late(void *state, struct wt_exchange *burst, uint32_t count) {
    static double begun;
    (void)state, (void)burst, (void)count;
    if (begun == 0) begun = now_s();
    while (now_s() > begun + 0.5) pause();
}

const struct wt_handler wt_handler = {GOOD, .message = sleep_late};
