/* `l_app`: latency. A small request is read and a response of the same size written: where the response has
 * more room than the request had bytes, it is made shorter. */
#include "handlers/applications/scanning.h"

static void l_app_message(void *state, struct wt_exchange *burst, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        struct wt_exchange *e = &burst[i];
        if (e->response.length > e->request.length) e->response.length = e->request.length;
        body_fill(&e->response, 0, scanning_word(state, &e->request));
    }
}

const struct wt_handler wt_l_app = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "l_app",
    .help = "scans a small request, writes a response of the same size",
    .kind = WT_MESSAGE_HANDLER,
    .open = scanning_open,
    .message = l_app_message,
};
