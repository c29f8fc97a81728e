/* `empty`, packet handler: the cost of having one. Every packet goes on to the parser. */
#include "handlers/applications/opening.h"

static void empty_packet(void *state, struct wt_packet *burst, uint32_t count) {
    (void)state, (void)burst, (void)count;
}

const struct wt_handler wt_empty_packet = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "empty",
    .help = "forwards every packet without touching it",
    .kind = WT_PACKET_HANDLER,
    .open = wt_open_nothing,
    .packet = empty_packet,
};
