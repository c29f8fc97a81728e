// The cache-latency ladder: what one load costs that waits for the load before it, against the bytes among
// which it chooses.
//
// Lines of 64 bytes are linked into one cycle in random order, which no prefetcher follows, and walked. The
// cycle grows by putting each new line behind one that is already in it, chosen at random: at every length it
// is a random cycle over all its lines, so that one growth serves every size of the ladder.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { WT_LADDER_LINE = 64 };

struct wt_ladder_line {
    struct wt_ladder_line *next;
    unsigned char rest[WT_LADDER_LINE - sizeof(void *)];
};

// Grows the cycle over lines[0, from) to lines[0, to). `from` 0 begins one; `state`: of the random numbers,
// not 0.
void wt_ladder_grow(struct wt_ladder_line *lines, size_t from, size_t to, uint64_t *state);

// Walks `steps` lines, a multiple of 16, and returns the ticks that it took. `at` is where the walk begins,
// and where it has ended.
uint64_t wt_ladder_walk(struct wt_ladder_line **at, size_t steps);

#ifdef __cplusplus
}
static_assert(sizeof(wt_ladder_line) == WT_LADDER_LINE);
#endif
