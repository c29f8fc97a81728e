/* A packet handler with three steps, of which the first makes traffic, and counters; `wrong` says that one
 * packet was. */
#include <stdlib.h>
#include <string.h>
#include <windtunnel/handler.h>

static const struct wt_option options[] = {{"wrong", "0", NULL, "packets that were wrong", WT_COUNT, 0},
                                           {NULL, NULL, NULL, NULL, 0, 0}};

struct state {
    struct wt_step *const *steps;
    uint64_t calls, packets, wrong;
};

static int steps_open(const struct wt_open *open, void **state) {
    struct state *self = calloc(1, sizeof *self);
    if (!self) return -1;
    self->steps = open->steps;
    self->wrong = strtoull(open->options[0].value, NULL, 10);
    *state = self;
    return 0;
}

static void steps_close(void *state) { free(state); }

static const struct wt_step_name *steps_names(void *state) {
    static const struct wt_step_name names[] = {
        {"frames", WT_STEP_TRAFFIC, 0}, {"look", 0, 0}, {"send", 0, 0}, {NULL, 0, 0}};
    (void)state;
    return names;
}

static const struct wt_counter *steps_counters(void *state) {
    static const struct wt_counter counters[] = {{"", "seen", "packets", WT_COUNTER_TOTAL, 0},
                                                 {"", "bursts", "calls", WT_COUNTER_TOTAL, 0},
                                                 {"table", "entries", "entries", WT_COUNTER_LEVEL, 0},
                                                 {"table", "wrong", "packets", WT_COUNTER_ERROR, 0},
                                                 {NULL, NULL, NULL, 0, 0}};
    (void)state;
    return counters;
}

static void steps_read(void *state, uint64_t *values) {
    const struct state *self = state;
    values[0] = self->packets;
    values[1] = self->calls;
    values[2] = 42;
    values[3] = self->wrong;
}

static void steps_packet(void *state, struct wt_packet *burst, uint32_t count) {
    struct state *self = state;
    struct wt_step *const steps = *self->steps;
    uint64_t since = steps ? wt_ticks() : 0;
    for (uint32_t i = 0; i < count; ++i) burst[i].data[0] = (uint8_t)i;
    if (steps) since = wt_step_end(&steps[0], since, count);
    uint32_t odd = 0;
    for (uint32_t i = 0; i < count; ++i) odd += burst[i].data[0] & 1u;
    if (steps) since = wt_step_end(&steps[1], since, odd);
    for (uint32_t i = 0; i < count; ++i) burst[i].verdict = WT_FORWARD;
    if (steps) wt_step_end(&steps[2], since, count);
    self->packets += count;
    self->calls++;
}

const struct wt_handler wt_handler = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "steps",
    .help = "sends everything back, in steps",
    .kind = WT_PACKET_HANDLER,
    .options = options,
    .open = steps_open,
    .close = steps_close,
    .packet = steps_packet,
    .steps = steps_names,
    .counters = steps_counters,
    .read_counters = steps_read,
};
