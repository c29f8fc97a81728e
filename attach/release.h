/* What the probe knows of the DPDK in its process: where the functions of the data path are, by release. */
#ifndef WT_ATTACH_RELEASE_H
#define WT_ATTACH_RELEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WT_RELEASE_STRIDE = 128, WT_RELEASE_QUEUES = 1024 };

/* Offsets in an entry of rte_eth_fp_ops, for rx and for tx. */
struct wt_layout {
    size_t burst;
    size_t queues;
};

struct wt_release {
    unsigned year, month;
    unsigned ports;
    char *entries; /* rte_eth_fp_ops; NULL: not known */
    struct wt_layout layout[2];
    int (*stats_get)(uint16_t port, void *stats);
    /* RTE_PER_LCORE(_lcore_id), as the ABI of thread-local storage names it; module 0: there is none */
    struct {
        unsigned long module, offset;
    } lcore;
};

extern struct wt_release wt_release;

/* Finds all that. Returns NULL, or the sentence that says why this process cannot be observed. */
const char *wt_find_release(void);

/* The number of the lcore that calls, or 0xffff. */
uint16_t wt_lcore(void);

static inline void **wt_burst_of(unsigned port, unsigned direction) {
    return (void **)(wt_release.entries + (size_t)port * WT_RELEASE_STRIDE +
                     wt_release.layout[direction].burst);
}

static inline void **wt_queues_of(unsigned port, unsigned direction) {
    void **const field = (void **)(wt_release.entries + (size_t)port * WT_RELEASE_STRIDE +
                                   wt_release.layout[direction].queues);
    return (void **)__atomic_load_n(field, __ATOMIC_RELAXED);
}

/* Whether a driver's functions are there. DPDK's stand-ins of a stopped port share one array of queues. */
bool wt_port_is_attached(unsigned port);

/* Whether the address lies in memory that may be executed. */
bool wt_is_code(const void *address);

#endif
