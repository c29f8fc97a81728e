/* `match_action`: the steps of a burst in order, and the handler's descriptor. */
#include "parts/tables/match_action.h"

/* Steps stand in this order, tables between the two checksums; without `traffic` and `check` where nobody
 * makes any. */
struct ma_stamps {
    struct wt_step *next; /* NULL: this call is not timed */
    uint64_t since;
};

static inline void stamp(struct ma_stamps *s, uint64_t packets) {
    if (__builtin_expect(s->next != NULL, 0)) s->since = wt_step_end(s->next++, s->since, packets);
}

void ma_packet(void *state, struct wt_packet *burst, uint32_t count) {
    struct ma_pipeline *p = state;
    struct ma_stamps stamps = {p->steps ? *p->steps : NULL, 0};
    if (stamps.next) stamps.since = wt_ticks();
    if (p->makes_frames) {
        ma_write_frames(p, burst, count);
        stamp(&stamps, count);
    }
    uint32_t live = ma_parse(p, burst, count);
    stamp(&stamps, count);
    const uint32_t parsed = live;
    live = ma_verify(p, burst, live);
    stamp(&stamps, parsed);
    /* one time for the burst, the run's, as everywhere in the engine (core/clock.h) */
    const uint64_t now = p->held_ticks ? wt_ticks() - *p->held_ticks : 0;
    for (uint32_t t = 0; t < p->table_count; ++t) {
        const uint32_t asked = live;
        if (live > 0) live = ma_apply(p, t, burst, live, now);
        stamp(&stamps, asked);
    }
    ma_compute(p, burst, live);
    stamp(&stamps, live);
    ma_deparse(p, burst, live);
    stamp(&stamps, live);
    if (p->checks) {
        ma_check(p, burst, count);
        stamp(&stamps, count);
    }
}

const struct wt_handler wt_match_action = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "match_action",
    .help = "a pipeline of match-action tables, as in [[workload.table]] (page \"Match-action tables\")",
    .kind = WT_PACKET_HANDLER,
    .open = ma_open,
    .close = ma_close,
    .request = ma_write_requests,
    .packet = ma_packet,
    .steps = ma_steps,
    .counters = ma_counters,
    .read_counters = ma_read_counters,
};
