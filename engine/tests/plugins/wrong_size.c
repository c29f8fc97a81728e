#include <stdint.h>

const struct {
    uint32_t abi, size;
} wt_handler = {.abi = 3, .size = 8};
