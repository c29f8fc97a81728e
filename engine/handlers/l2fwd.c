/* `l2fwd`: any Ethernet frame goes back with its MAC addresses swapped: what testpmd calls macswap.
 *
 * What is shorter than an Ethernet header is passed on, for the parser to drop it by name. */
#include "handlers/opening.h"
#include "handlers/swap.h"

enum { ETHERNET_HEADER = 14 };

/* Frames that are too short to load 16 bytes of. */
static void l2fwd_short(struct wt_packet *p) {
    if (p->length < ETHERNET_HEADER) return;
    swap_bytes(p->data, p->data + 6, 6);
    p->verdict = WT_FORWARD;
}

WT_SWAPS static inline void l2fwd_one(struct wt_packet *p) {
    swap_macs(p->data);
    p->verdict = WT_FORWARD;
}

WT_SWAPS static void l2fwd_packet(void *state, struct wt_packet *burst, uint32_t count) {
    (void)state;
    uint32_t i = 0;
    /* by fours: one branch, always the same way on real traffic, and four frames' loads side by side */
    for (; i + 4 <= count; i += 4) {
        struct wt_packet *p = burst + i;
        if (__builtin_expect(
                (p[0].length < 16) | (p[1].length < 16) | (p[2].length < 16) | (p[3].length < 16), 0))
            break;
        l2fwd_one(p);
        l2fwd_one(p + 1);
        l2fwd_one(p + 2);
        l2fwd_one(p + 3);
    }
    for (; i < count; ++i) {
        if (burst[i].length < 16)
            l2fwd_short(&burst[i]);
        else
            l2fwd_one(&burst[i]);
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
