/* Of another ABI nothing but these two words may be believed. */
#include <stdint.h>

const struct {
    uint32_t abi, size;
} wt_handler = {.abi = 1, .size = 8};
