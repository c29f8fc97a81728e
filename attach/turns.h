/* What stands around each call of a driver: counting, and the time of some turns. */
#ifndef WT_ATTACH_TURNS_H
#define WT_ATTACH_TURNS_H

#include <stdint.h>

typedef uint16_t (*wt_burst)(void *queue, void **packets, uint16_t count);

/* The same in the place of the functions of a port. `driver` is what was there. */
uint16_t wt_receive(wt_burst driver, void *queue, void **packets, uint16_t count, unsigned port);
uint16_t wt_send(wt_burst driver, void *queue, void **packets, uint16_t count, unsigned port);

static inline uint64_t wt_ticks(void) { return __builtin_ia32_rdtsc(); }

#endif
