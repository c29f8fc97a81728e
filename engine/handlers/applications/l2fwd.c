/* `l2fwd`: any Ethernet frame goes back with its MAC addresses swapped: what testpmd calls macswap.
 *
 * What is shorter than an Ethernet header is passed on, for the parser to drop it by name. */
#include "handlers/applications/opening.h"
#include "handlers/applications/swap.h"

enum { ETHERNET_HEADER = 14 };

/* Frames that are too short to load 16 bytes of. */
static void l2fwd_short(struct wt_packet *p) {
    if (p->length < ETHERNET_HEADER) return;
    swap_bytes(p->data, p->data + 6, 6);
    p->verdict = WT_FORWARD;
}

WT_SWAPS static void l2fwd_packet(void *state, struct wt_packet *burst, uint32_t count) {
    (void)state;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < count; ++i) {
        struct wt_packet *p = &burst[i];
        if (__builtin_expect(p->length < 16, 0)) {
            l2fwd_short(p);
            continue;
        }
        swap_macs(p->data);
        p->verdict = WT_FORWARD;
    }
}

const struct wt_handler wt_l2fwd = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "l2fwd",
    .help = "swaps the MAC addresses of any frame and sends it back",
    .kind = WT_PACKET_HANDLER,
    .open = wt_open_nothing,
    .packet = l2fwd_packet,
};
