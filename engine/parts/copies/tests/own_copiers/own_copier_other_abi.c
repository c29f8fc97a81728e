/* Of another ABI nothing but these two words may be believed. */
#include <stdint.h>

const struct {
    uint32_t abi, size;
} wt_copier = {.abi = 9, .size = 8};
