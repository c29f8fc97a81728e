#include <stdint.h>

const struct { uint32_t abi, size; } wt_handler = {.abi = 2, .size = 8};
