/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A handler of your own, complete: it answers each request with the request's bytes, `add` added to each.
 * Copy this directory anywhere, build it with `make`, fly it with `handler = "./libmine.so"`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <windtunnel/handler.h>

/* One state an application: no other worker touches it, so there is nothing to lock. */
struct mine {
    uint8_t add;
};

/* A scenario sets these with `options = { add = 13 }`. An option has a default, a type and a line of help; the
 * engine has refused what is not of the type, the range is yours to check. */
static const struct wt_option options[] = {
    {"add", "1", NULL, "what is added to every byte, 0 to 255", WT_COUNT, 0},
    {NULL, NULL, NULL, NULL, 0, 0},
};

/* Before the flight: the one place to allocate and to refuse, in words that the user will read. Every option stands
 * in open->options, in the order of the list above. */
static int mine_open(const struct wt_open *open, void **state) {
    const unsigned long long add = strtoull(open->options[0].value, NULL, 10);
    if (add > 255) {
        snprintf(open->error, open->error_size, "add = %llu is more than a byte can hold, 255", add);
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

/* One request, one answer. Both are cut into segments, and not at the same places: walk along both. The answer may
 * lie in the request's own memory (WT_ANSWER_IN_REQUEST): a byte is read before it is written over. */
static void answer(const struct mine *self, struct wt_exchange *e) {
    const struct wt_segment *from = e->request.segments, *to = e->answer.segments;
    uint32_t read = 0, written = 0; /* in the present segments */

    if (e->answer.length > e->request.length)
        e->answer.length = e->request.length; /* shorter is allowed, longer never */
    for (uint32_t done = 0; done < e->answer.length; ++done) {
        while (read == from->length)
            ++from, read = 0;
        while (written == to->length)
            ++to, written = 0;
        to->data[written++] = (uint8_t)(from->data[read++] + self->add);
    }
}

/* In the flight: a burst at a time, on the worker's core. No allocation, no waiting, no pointer kept. */
static void mine_message(void *state, struct wt_exchange *burst, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
        answer(state, &burst[i]);
}

/* The one symbol that the engine looks for. */
const struct wt_handler wt_handler = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "mine",
    .help = "answers with the request's bytes, a number added to each",
    .kind = WT_MESSAGE_HANDLER,
    .options = options,
    .open = mine_open,
    .close = mine_close,
    .message = mine_message,
};
