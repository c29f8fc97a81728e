/* A copier of a user's own whose copies end later: `completed` makes them. Each of the others differs from it
 * in one thing; its option has it do what no copier may. */
#include <stdlib.h>
#include <string.h>
#include <windtunnel/copier.h>

enum { DEPTH = 64 };

struct own {
    const char *fault;
    struct wt_copy_piece pieces[DEPTH];
    uint32_t begun, ended; /* modulo 2^32 */
};

static const struct wt_option own_options[] = {
    {"fault", "none", "none|takes_too_many|ends_too_many|unknown_end|loses_one|copies_nothing|fails",
     "what it does wrong", WT_CHOICE, 0},
    {NULL, NULL, NULL, NULL, 0, 0},
};

static int has(const struct own *self, const char *fault) { return strcmp(self->fault, fault) == 0; }

static int own_open(const struct wt_copier_open *open, void **state) {
    struct own *const self = calloc(1, sizeof *self);
    if (!self) return -1;
    self->fault = strdup(open->options[0].value); /* the values go with the call */
    *state = self;
    return 0;
}

static void own_close(void *state) {
    free((void *)((struct own *)state)->fault);
    free(state);
}

static uint32_t own_submit(void *state, const struct wt_copy_piece *pieces, uint32_t count) {
    struct own *const self = state;
    uint32_t i;
    for (i = 0; i < count; i++) self->pieces[self->begun++ % DEPTH] = pieces[i];
    return has(self, "takes_too_many") ? count + 1 : count;
}

static uint32_t own_completed(void *state, uint8_t *ends, uint32_t most) {
    struct own *const self = state;
    uint32_t count = 0;
    if (has(self, "ends_too_many")) return most + 1;
    while (count < most && self->ended != self->begun && !(has(self, "loses_one") && self->ended == 500)) {
        const struct wt_copy_piece *const piece = &self->pieces[self->ended++ % DEPTH];
        if (!has(self, "copies_nothing")) memcpy(piece->to, piece->from, piece->bytes);
        ends[count++] = has(self, "fails") ? WT_COPY_FAILED : has(self, "unknown_end") ? 7 : WT_COPY_WELL;
    }
    return count;
}

#define OWN                                                                                             \
    .abi = WT_COPIER_ABI, .size = sizeof(struct wt_copier), .name = "own", .help = "copies when asked", \
    .kind = WT_COPIER_CORE, .most_depth = DEPTH, .options = own_options, .open = own_open,              \
    .close = own_close, .submit = own_submit, .completed = own_completed

/* {OWN, .name = NULL} says a thing twice on purpose: the second word counts */
#ifdef __clang__
#pragma clang diagnostic ignored "-Winitializer-overrides"
#else
#pragma GCC diagnostic ignored "-Woverride-init"
#endif
