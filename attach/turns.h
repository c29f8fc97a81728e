/* What stands around each call of a driver: counting, and the time of some turns. */
#ifndef WT_ATTACH_TURNS_H
#define WT_ATTACH_TURNS_H

#include <stdint.h>

typedef uint16_t (*wt_burst)(void *queue, void **packets, uint16_t count);

/* The same in the place of the functions of a port. `driver` is what was there; it comes after
 * what the caller has in its registers already. */
uint16_t wt_receive(void *queue, void **packets, uint16_t count, wt_burst driver, unsigned port);
uint16_t wt_send(void *queue, void **packets, uint16_t count, wt_burst driver, unsigned port);

static inline uint64_t wt_ticks(void) { return __builtin_ia32_rdtsc(); }

#endif
