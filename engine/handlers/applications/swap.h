/* Fields of a header change places: 16 bytes are loaded, shuffled in one instruction (pshufb, tbl) and
 * stored. */
#ifndef WT_HANDLERS_SWAP_H
#define WT_HANDLERS_SWAP_H

#include <stdint.h>
#include <string.h>

/* One pshufb needs SSSE3, which x86-64 alone does not promise and DPDK's own build demands. */
#ifdef __x86_64__
#define WT_SWAPS __attribute__((target("ssse3")))
#else
#define WT_SWAPS
#endif

typedef uint8_t sixteen_bytes __attribute__((vector_size(16)));

/* Destination and source MAC; `at` is the Ethernet header, of which 16 bytes are there. */
WT_SWAPS static inline void swap_macs(uint8_t *at) {
    sixteen_bytes header;
    memcpy(&header, at, sizeof header);
    header = __builtin_shufflevector(header, header, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 12, 13, 14, 15);
    memcpy(at, &header, sizeof header);
}

/* IPv4 addresses and UDP ports; `at` is the source address of a header without options, 16 bytes are there.
 */
WT_SWAPS static inline void swap_flow(uint8_t *at) {
    sixteen_bytes flow;
    memcpy(&flow, at, sizeof flow);
    flow = __builtin_shufflevector(flow, flow, 4, 5, 6, 7, 0, 1, 2, 3, 10, 11, 8, 9, 12, 13, 14, 15);
    memcpy(at, &flow, sizeof flow);
}

/* `bytes` (at most 6) at `a` and at `b`, where the header is not in one piece of 16. */
static inline void swap_bytes(uint8_t *a, uint8_t *b, uint32_t bytes) {
    uint8_t kept[6];
    memcpy(kept, a, bytes);
    memcpy(a, b, bytes);
    memcpy(b, kept, bytes);
}

#endif
