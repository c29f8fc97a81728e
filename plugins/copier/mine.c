/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A complete copier: `rep movsb`, which newer x86 CPUs run as a fast loop of their own (ERMS), from a size on
 * that a scenario chooses; memcpy below it.
 * Copy this directory anywhere, build it with `make` and use it with `engine = "./libmine.so"`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windtunnel/copier.h>

/* The state of one application. Only its worker uses it during the run, so it needs no lock. */
struct mine {
    uint64_t least; /* bytes */
};

/* A scenario sets these with `options = { least = "4KiB" }`. An option has a default, a type and a line of
 * help. The engine checks the type; `open` checks the range. */
static const struct wt_option options[] = {
    {"least", "512", NULL, "smaller copies are made by memcpy", WT_BYTES, 0},
    {NULL, NULL, NULL, NULL, 0, 0},
};

/* Before the run: the only place to allocate and to refuse, with a message that the user will read.
 * open->options has every option, in the order of the list above. */
static int mine_open(const struct wt_copier_open *open, void **state) {
    const unsigned long long least = strtoull(open->options[0].value, NULL, 10);
    if (least > UINT32_MAX) {
        snprintf(open->error, open->error_size, "least = %llu is more than a copy can have, %u", least,
                 UINT32_MAX);
        return -1;
    }
    struct mine *self = malloc(sizeof *self);
    if (!self) {
        snprintf(open->error, open->error_size, "no memory");
        return -1;
    }
    self->least = least;
    *state = self;
    return 0;
}

static void mine_close(void *state) { free(state); }

static void copy_string(void *to, const void *from, size_t bytes) {
#if defined(__x86_64__)
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#else
    memcpy(to, from, bytes);
#endif
}

/* During the run: one burst per call, on the worker's core. Must not allocate or wait. Without a hook
 * `completed` all copies have ended when it returns. */
static uint32_t mine_submit(void *state, const struct wt_copy_piece *pieces, uint32_t count) {
    const struct mine *self = state;
    for (uint32_t i = 0; i < count; ++i) {
        if (pieces[i].bytes < self->least)
            memcpy(pieces[i].to, pieces[i].from, pieces[i].bytes);
        else
            copy_string(pieces[i].to, pieces[i].from, pieces[i].bytes);
    }
    return count;
}

/* The symbol that the engine loads. */
const struct wt_copier wt_copier = {
    .abi = WT_COPIER_ABI,
    .size = sizeof(struct wt_copier),
    .name = "mine",
    .help = "the worker copies, by rep movsb",
    .kind = WT_COPIER_CORE,
    .most_depth = 8192,
    .options = options,
    .open = mine_open,
    .close = mine_close,
    .submit = mine_submit,
};
