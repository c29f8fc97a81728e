/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A complete handler: each response is the request's bytes with `add` added to each.
 * Copy this directory anywhere, build it with `make` and use it with `handler = "./libmine.so"`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <windtunnel/handler.h>

/* The state of one application. Only its worker uses it, so it needs no lock. */
struct mine {
    uint8_t add;
};

/* A scenario sets these with `options = { add = 13 }`. An option has a default, a type and a line of help.
 * The engine checks the type; `open` checks the range. */
static const struct wt_option options[] = {
    {"add", "1", NULL, "number to add to every byte, 0 to 255", WT_COUNT, 0},
    {NULL, NULL, NULL, NULL, 0, 0},
};

/* Before the run: the only place to allocate and to refuse, with a message that the user will read.
 * open->options has every option, in the order of the list above. */
static int mine_open(const struct wt_open *open, void **state) {
    const unsigned long long add = strtoull(open->options[0].value, NULL, 10);
    if (add > 255) {
        snprintf(open->error, open->error_size,
                 "add = %llu does not fit into a byte; the largest value is 255", add);
        return -1;
    }
    struct mine *self = malloc(sizeof *self);
    if (!self) {
        snprintf(open->error, open->error_size, "no memory");
        return -1;
    }
    self->add = (uint8_t)add;
    *state = self;
    return 0;
}

static void mine_close(void *state) { free(state); }

/* Writes one response. Request and response are divided into segments at different places, so both are
 * walked. The response may be in the request's own memory (WT_RESPONSE_IN_REQUEST): a byte is read before it
 * is overwritten. */
static void respond(const struct mine *self, struct wt_exchange *e) {
    const struct wt_segment *from = e->request.segments, *to = e->response.segments;
    uint32_t read = 0, written = 0; /* in the current segments */

    if (e->response.length > e->request.length)
        e->response.length = e->request.length; /* may be shorter than its room, never longer */
    for (uint32_t done = 0; done < e->response.length; ++done) {
        while (read == from->length) ++from, read = 0;
        while (written == to->length) ++to, written = 0;
        to->data[written++] = (uint8_t)(from->data[read++] + self->add);
    }
}

/* During the run: one burst per call, on the worker's core. Must not allocate, wait or keep a pointer. */
static void mine_message(void *state, struct wt_exchange *burst, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) respond(state, &burst[i]);
}

/* The symbol that the engine loads. */
const struct wt_handler wt_handler = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "mine",
    .help = "returns the request's bytes with a number added to each",
    .kind = WT_MESSAGE_HANDLER,
    .options = options,
    .open = mine_open,
    .close = mine_close,
    .message = mine_message,
};
