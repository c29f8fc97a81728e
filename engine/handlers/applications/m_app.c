/* `m_app`: memory. For each message it reads and writes cache lines of a state of its own, one state an
 * application.
 *
 * Every visit reads the line's mark and leaves the message's number there, so the response tells which lines
 * were seen before: a test counts by it that the walk keeps to its range and gets everywhere in it. The lines
 * of a message do not wait for each other: as many misses are in flight as the CPU allows.
 */
#include <stdlib.h>

#include "core/random.h"
#include "handlers/applications/body.h"
#include "handlers/applications/opening.h"

struct cache_line {
    uint64_t mark;
    uint8_t rest[56];
};
_Static_assert(sizeof(struct cache_line) == 64, "one visit, one line");

struct m_app {
    struct cache_line *lines;
    uint64_t range; /* lines that are visited */
    uint64_t accesses;
    uint64_t random; /* 0: sequential */
    uint64_t next;   /* random: the generator's state; sequential: the line */
    uint64_t messages;
    uint32_t scan;
};

static void m_app_close(void *state) {
    struct m_app *self = state;
    if (self) free(self->lines);
    free(self);
}

static int m_app_open(const struct wt_open *open, void **state) {
    *state = NULL;
    if (open->role == WT_CLIENT) return 0;
    const uint64_t bytes = wt_number(open, "state");
    const uint64_t range = wt_number(open, "range");
    if (bytes < sizeof(struct cache_line))
        return wt_refuse(open, "state = %llu is less than a cache line of 64 bytes",
                         (unsigned long long)bytes);
    if (range != 0 && (range < sizeof(struct cache_line) || range > bytes))
        return wt_refuse(open, "range = %llu is not between a cache line of 64 bytes and the state of %llu",
                         (unsigned long long)range, (unsigned long long)bytes);
    struct cache_line *lines = wt_take_memory(open, "state", bytes);
    if (!lines) return -1;
    struct m_app *self = wt_take_memory(open, "m_app", sizeof *self);
    if (!self) {
        free(lines);
        return -1;
    }
    const int random = strcmp(wt_text(open, "pattern"), "random") == 0;
    *self = (struct m_app){
        .lines = lines,
        .range = (range ? range : bytes) / sizeof(struct cache_line),
        .accesses = wt_number(open, "accesses"),
        .random = random,
        .next = random ? mix64(open->seed + open->index) : 0,
        .scan = open->scan,
    };
    *state = self;
    return 0;
}

static uint64_t visit(struct cache_line *line, uint64_t mark) {
    const uint64_t found = line->mark;
    line->mark = mark;
    return found;
}

static uint64_t walk_random(struct m_app *self, uint64_t mark) {
    uint64_t found = 0, next = self->next;
    for (uint64_t i = 0; i < self->accesses; ++i)
        found ^= visit(&self->lines[random_below(&next, self->range)], mark);
    self->next = next;
    return found;
}

static uint64_t walk_on(struct m_app *self, uint64_t mark) {
    uint64_t found = 0, next = self->next;
    for (uint64_t i = 0; i < self->accesses; ++i) {
        found ^= visit(&self->lines[next], mark);
        if (++next == self->range) next = 0;
    }
    self->next = next;
    return found;
}

static void m_app_message(void *state, struct wt_exchange *burst, uint32_t count) {
    struct m_app *self = state;
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t scanned = self->scan ? body_scan(&burst[i].request) : 0;
        const uint64_t mark = ++self->messages;
        const uint64_t found = self->random ? walk_random(self, mark) : walk_on(self, mark);
        body_fill(&burst[i].response, 0, scanned ^ found);
    }
}

static const struct wt_option m_app_options[] = {
    {"state", "67108864", NULL, "memory of each application", WT_BYTES, 0},
    {"range", "0", NULL, "part of the state that is visited; 0: all of it", WT_BYTES, 0},
    {"accesses", "8", NULL, "cache lines read and written for each message", WT_COUNT, 0},
    {"pattern", "random", "random|sequential", "order in which the lines are visited", WT_CHOICE, 0},
    {NULL, NULL, NULL, NULL, 0, 0},
};

const struct wt_handler wt_m_app = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "m_app",
    .help = "reads and writes cache lines of a state of a given size",
    .kind = WT_MESSAGE_HANDLER,
    .options = m_app_options,
    .open = m_app_open,
    .close = m_app_close,
    .message = m_app_message,
};
