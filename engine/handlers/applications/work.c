/* `work`: any frame goes back after a given time. It stands for a data plane of which only its costs are
 * known: what a burst takes, what each packet takes in addition, and how many bytes of a packet are read. */
#include <stdlib.h>

#include "handlers/applications/opening.h"

enum { LINE = 64 };

struct work {
    uint64_t burst_ticks;
    uint64_t packet_ticks;
    uint32_t touch;     /* bytes */
    uint64_t bytes_sum; /* so that the reads are not removed */
};

static int work_open(const struct wt_open *open, void **state) {
    struct work *self = (struct work *)wt_take_memory(open, "work", sizeof *self);
    if (self == NULL) return -1;
    self->burst_ticks = wt_number(open, "burst_ticks");
    self->packet_ticks = wt_number(open, "packet_ticks");
    self->touch = (uint32_t)wt_number(open, "touch");
    *state = self;
    return 0;
}

/* A byte of each cache line, of as much as there is. */
static uint64_t read_lines(const struct wt_packet *p, uint32_t touch) {
    const uint32_t end = p->length < touch ? p->length : touch;
    uint64_t sum = 0;
    for (uint32_t at = 0; at < end; at += LINE) sum += p->data[at];
    return sum;
}

/* The bytes are read within the time that the burst takes. */
static void work_packet(void *state, struct wt_packet *burst, uint32_t count) {
    struct work *self = (struct work *)state;
    const uint64_t begin = wt_ticks();
    const uint64_t lasts = self->burst_ticks + count * self->packet_ticks;
    for (uint32_t i = 0; i < count; ++i) {
        self->bytes_sum += read_lines(&burst[i], self->touch);
        burst[i].verdict = WT_FORWARD;
    }
    while (wt_ticks() - begin < lasts) continue;
}

static const struct wt_option work_options[] = {
    {"burst_ticks", "0", NULL, "ticks of the TSC that each burst takes", WT_COUNT, 0},
    {"packet_ticks", "0", NULL, "ticks that each packet takes in addition", WT_COUNT, 0},
    {"touch", "64", NULL, "bytes of each packet that are read", WT_BYTES, 0},
    {NULL, NULL, NULL, NULL, 0, 0},
};

const struct wt_handler wt_work = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "work",
    .help = "sends any frame back after a given time a burst and a packet",
    .kind = WT_PACKET_HANDLER,
    .options = work_options,
    .open = work_open,
    .close = free,
    .packet = work_packet,
};
