/* `drop`: receives and frees, the other half of a transmitter's bench. */
#include "handlers/applications/opening.h"

static void drop_packet(void *state, struct wt_packet *burst, uint32_t count) {
    (void)state;
    for (uint32_t i = 0; i < count; ++i) burst[i].verdict = WT_DROP;
}

const struct wt_handler wt_drop = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "drop",
    .help = "drops every packet",
    .kind = WT_PACKET_HANDLER,
    .open = wt_open_nothing,
    .packet = drop_packet,
};
