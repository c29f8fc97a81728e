#include "host/ladder.h"

#include <rte_cycles.h>

// xorshift64*: the upper half of a product, so that no division stands in the growth.
static size_t below(size_t limit, uint64_t *state) {
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return (size_t)(((unsigned __int128)(x * 0x2545F4914F6CDD1DULL) * limit) >> 64);
}

void wt_ladder_grow(struct wt_ladder_line *lines, size_t from, size_t to, uint64_t *state) {
    if (from == 0 && to > 0) {
        lines[0].next = &lines[0];
        from = 1;
    }
    for (size_t i = from; i < to; i++) {
        struct wt_ladder_line *before = &lines[below(i, state)];
        lines[i].next = before->next;
        before->next = &lines[i];
    }
}

uint64_t wt_ladder_walk(struct wt_ladder_line **at, size_t steps) {
    struct wt_ladder_line *line = *at;
    const uint64_t start = rte_rdtsc_precise();
    for (size_t i = 0; i < steps; i += 16) {
        // written out sixteen times: the loop's own work stays below a tenth of a hit in the first cache
#pragma GCC unroll 16
        for (int j = 0; j < 16; j++) line = line->next;
        __asm__ volatile("" : "+r"(line));
    }
    const uint64_t ticks = rte_rdtsc_precise() - start;
    *at = line;
    return ticks;
}
