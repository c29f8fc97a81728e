/* `t_app`: throughput. A large request is read to its last byte; the response, small because the scenario
 * makes it so, carries what the reading gave. */
#include "handlers/applications/scanning.h"

static void t_app_message(void *state, struct wt_exchange *burst, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
        body_fill(&burst[i].response, 0, scanning_word(state, &burst[i].request));
}

const struct wt_handler wt_t_app = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "t_app",
    .help = "scans a large request, writes a small response",
    .kind = WT_MESSAGE_HANDLER,
    .open = scanning_open,
    .message = t_app_message,
};
