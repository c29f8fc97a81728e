/* A thread of DPDK's own that waits for somebody: the one that is asked to load the probe. */
#ifndef WT_ATTACH_SLEEPER_H
#define WT_ATTACH_SLEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

#include "target.h"

struct wt_sleeper {
    pid_t tid;
    char name[16];
    struct user_regs_struct registers; /* in its system call */
    uint64_t interrupted_ns;
};

/* Stops one of them by ptrace; it is asleep in a system call that can be made once more. Refuses if there is
 * none. */
struct wt_sleeper wt_stop_sleeper(const struct wt_target *target);

/* Whether it sleeps there again. */
bool wt_sleeps_again(const struct wt_target *target, const struct wt_sleeper *sleeper);

uint64_t wt_now_ns(void);

#endif
