/* `empty`, message handler: the cost of the data path alone. It touches no byte; the response's body is
 * what its buffers held. */
#include "handlers/applications/opening.h"

static void empty_message(void *state, struct wt_exchange *burst, uint32_t count) {
    (void)state, (void)burst, (void)count;
}

const struct wt_handler wt_empty_message = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "empty",
    .help = "responds without touching a byte",
    .kind = WT_MESSAGE_HANDLER,
    .open = wt_open_nothing,
    .message = empty_message,
};
