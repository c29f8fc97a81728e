#include <stdint.h>

const struct {
    uint32_t abi, size;
} wt_copier = {.abi = 1, .size = 8};
