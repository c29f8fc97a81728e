/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The public interface of a copier: what moves the bytes of payload into packets.
 *
 * A scenario names a shared object by its path, `engine = "./libmine.so"` in [workload.copies]. It exports
 * one symbol:
 *
 *     const struct wt_copier wt_copier = { .abi = WT_COPIER_ABI, .size = sizeof(struct wt_copier), ... };
 *
 * The engine asks a copier for no more copies than its depth, counts what it takes and what it reports, and
 * gives it up if it breaks a rule that stands here. This header compiles as C11 and as C++20.
 */
#ifndef WINDTUNNEL_COPIER_H
#define WINDTUNNEL_COPIER_H

#include <stddef.h>
#include <stdint.h>
#include <windtunnel/option.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Incremented whenever the meaning or the layout of anything below changes. The engine refuses any other
 * number. 1  first version */
#define WT_COPIER_ABI 1u

/* Who moves the bytes. Measurements of one kind say nothing about the other. */
enum wt_copier_kind {
    WT_COPIER_CORE = 1,     /* a core: that of the worker which calls, or one of a thread of the copier */
    WT_COPIER_HARDWARE = 2, /* an engine of the host that is no core */
};

/* One copy. The two places never overlap, and neither overlaps the places of another copy that runs, except
 * that several copies may read the same bytes. Both are ordinary memory of this process, aligned to nothing.
 */
struct wt_copy_piece {
    uint8_t *to;
    const uint8_t *from;
    uint32_t bytes;    /* not 0 */
    uint32_t reserved; /* 0 */
};

/* How a copy ended. */
enum wt_copy_end {
    WT_COPY_WELL = 0,   /* all bytes are where they belong, for every core and every device to read */
    WT_COPY_FAILED = 1, /* the CPU makes the copy again, from its first byte; it is counted as failed */
};

/* The arguments of `open`, which is called once for each application that copies. */
struct wt_copier_open {
    uint32_t abi;
    uint32_t size;         /* of this structure in the calling engine */
    uint32_t application;  /* its index in its endpoint */
    uint32_t depth;        /* most copies that are started and not reported; at most `most_depth` */
    uint32_t option_count; /* every option of the copier's list, once, with a value */
    uint32_t reserved;     /* 0 */
    const struct wt_value *options;
    uint64_t seed;
    char *error;       /* room for the message of a failed open */
    size_t error_size; /* bytes, terminator included */
};

struct wt_copier {
    uint32_t abi;                    /* required: WT_COPIER_ABI */
    uint32_t size;                   /* required: sizeof(struct wt_copier) */
    const char *name;                /* required */
    const char *help;                /* required: one line */
    uint32_t kind;                   /* required: enum wt_copier_kind */
    uint32_t most_depth;             /* required: the greatest depth that `open` can be asked for, not 0 */
    const struct wt_option *options; /* NULL: none */

    /* Required. Called by the main thread, before the run. Returns 0 and sets *state, or returns non-zero and
     * writes a message to open->error. May allocate, wait and start threads. */
    int (*open)(const struct wt_copier_open *open, void **state);

    /* Optional. Called by the main thread once for each successful open, after the last call of the other
     * hooks. Copies may still run. When it returns, nothing writes to or reads from the places of any copy
     * any more, and no thread of this state is left: the memory and the code are given back next. */
    void (*close)(void *state);

    /* Required. Starts the first of `count` copies, and returns how many those are, at most `count`: the CPU
     * makes the others. `count` is not 0, and never more than `depth` less what runs. `pieces` is valid only
     * during the call, the places are until the copy is reported. Called by the worker of the application.
     * Before the run and after it the main thread calls it instead. Two calls of `submit` and `completed` of
     * one state never overlap, and each sees what the one before has written. Must not allocate or wait; the
     * bytes may be copied in the call. */
    uint32_t (*submit)(void *state, const struct wt_copy_piece *pieces, uint32_t count);

    /* NULL: all copies that `submit` has taken have ended well when it returns.
     *
     * Else: writes how the oldest copies ended that were not reported yet (enum wt_copy_end), and returns how
     * many, at most `most`. Copies are reported in the order in which they were started, each once, and no
     * copier touches the places of a copy that it has reported. Called by the same threads as `submit`, also
     * while nothing has ended. Must not allocate or wait. A copy that is not reported within the scenario's
     * `timeout` makes the run invalid, and the copier is not called again until `close`. */
    uint32_t (*completed)(void *state, uint8_t *ends, uint32_t most);
};

#ifdef __cplusplus
}
#endif
#endif
