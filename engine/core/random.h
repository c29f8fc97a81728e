/* Pseudo-random numbers that repeat with their seed (splitmix64: one addition and a mix; any seed will
 * do). */
#ifndef WT_CORE_RANDOM_H
#define WT_CORE_RANDOM_H

#include <stdint.h>

static inline uint64_t mix64(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline uint64_t random_next(uint64_t *state) { return mix64(*state += 0x9e3779b97f4a7c15u); }

__extension__ typedef unsigned __int128 random_product;

/* A number in [0, limit): by multiplication, which costs a tenth of a division. */
static inline uint64_t random_below(uint64_t *state, uint64_t limit) {
    return (uint64_t)((random_product)random_next(state) * limit >> 64);
}

#endif
