/* A message handler that names a copy in each response, and has two steps of its own: the second has the name
 * that a copier's first one has. */
#include <stdlib.h>
#include <windtunnel/handler.h>

enum { LOOK, SUBMIT, COPIED = 48 };
static const uint8_t bytes[COPIED];

struct state {
    struct wt_step *const *steps;
};

static int names_copies_open(const struct wt_open *open, void **state) {
    struct state *self = malloc(sizeof *self);
    if (!self) return -1;
    self->steps = open->steps;
    *state = self;
    return 0;
}

static void names_copies_close(void *state) { free(state); }

static const struct wt_step_name *names_copies_steps(void *state) {
    static const struct wt_step_name names[] = {{"look", 0, 0}, {"submit", 0, 0}, {NULL, 0, 0}};
    (void)state;
    return names;
}

static void names_copies_message(void *state, struct wt_exchange *burst, uint32_t count) {
    const struct state *self = state;
    struct wt_step *const steps = *self->steps;
    uint64_t since = steps ? wt_ticks() : 0;
    if (steps) since = wt_step_end(&steps[LOOK], since, count);
    for (uint32_t i = 0; i < count; ++i) wt_response_copy(&burst[i], 0, bytes, COPIED);
    if (steps) wt_step_end(&steps[SUBMIT], since, 2 * count);
}

const struct wt_handler wt_handler = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "names_copies",
    .help = "names a copy in each response, in steps",
    .kind = WT_MESSAGE_HANDLER,
    .flags = WT_NAMES_COPIES,
    .open = names_copies_open,
    .close = names_copies_close,
    .message = names_copies_message,
    .steps = names_copies_steps,
};
