/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a dispatcher says which tenant a packet is for, so that this tenant runs next.
 *
 * `windtunnel-slicer` makes the doorbell, a file in shared memory, when it starts as `doorbell`. A dispatcher
 * maps it (PROT_READ | PROT_WRITE, MAP_SHARED, sizeof(struct wt_doorbell)), checks `version`, posts the
 * packet where the tenant looks for it, and then calls wt_doorbell_ring with the tenant's place in the list
 * of members. A bell that is rung again before the tenant had its turn costs one atomic or. From C11; from
 * C++ through its own atomics.
 */
#ifndef WINDTUNNEL_DOORBELL_H
#define WINDTUNNEL_DOORBELL_H

#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WT_DOORBELL_VERSION 1u
#define WT_DOORBELL_TENANTS 64u

struct wt_doorbell {
    uint32_t version;
    uint32_t word; /* the slicer sleeps on it */
    uint64_t due;  /* a bit a tenant that has something to do and did not have its turn */
};

static inline void wt_doorbell_ring(struct wt_doorbell *bell, unsigned tenant) {
    const uint64_t bit = (uint64_t)1 << (tenant % WT_DOORBELL_TENANTS);
    if (__atomic_fetch_or(&bell->due, bit, __ATOMIC_RELEASE) & bit) return;
    __atomic_fetch_add(&bell->word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &bell->word, FUTEX_WAKE, INT_MAX);
}

#ifdef __cplusplus
}
#endif

#endif
