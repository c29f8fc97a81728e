/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one public header of Windtunnel: what a handler is.
 *
 * A handler is the emulated application. A message handler runs in the stage app_rx of the server, on whole
 * messages; a packet handler runs in disp_rx, on frames before they are parsed. The built-in ones and a foreign
 * shared object (`handler = "./libmine.so"`) go the same way: one indirect call a burst.
 *
 * A shared object exports one symbol:
 *
 *     const struct wt_handler wt_handler = { .abi = WT_HANDLER_ABI, .size = sizeof(struct wt_handler), ... };
 *
 * A handler sees views, never the engine's packet buffers. A view is valid only during the call that shows it.
 * Everything here may be used from C11 and C++20.
 */
#ifndef WINDTUNNEL_HANDLER_H
#define WINDTUNNEL_HANDLER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever the meaning or the layout of anything below changes. The engine refuses any other number.
 * 1  first flight
 * 2  a handler's steps, each with its cycles, and its figures */
#define WT_HANDLER_ABI 2u

enum wt_kind {
    WT_MESSAGE_HANDLER = 1,
    WT_PACKET_HANDLER = 2,
};

enum wt_role {
    WT_CLIENT = 1, /* only the hook `request` is called */
    WT_SERVER = 2,
};

/* A piece of a message's body: the message header is the engine's and is not shown. */
struct wt_segment {
    uint8_t *data;
    uint32_t length; /* bytes */
};

struct wt_message {
    const struct wt_segment *segments;
    uint32_t segment_count;
    uint32_t length; /* bytes of all segments together */
};

enum wt_exchange_flags {
    WT_ANSWER_IN_REQUEST = 1u << 0, /* set by the engine: the answer's first segments are the request's own memory */
    WT_NO_ANSWER = 1u << 1,         /* set by the handler: this request gets none; the client will count it as lost */
};

/* A request and the room for its answer. The handler may lower answer.length, never raise it. */
struct wt_exchange {
    struct wt_message request;
    struct wt_message answer;
    uint16_t workload;
    uint16_t flags; /* enum wt_exchange_flags */
};

enum wt_verdict {
    WT_PASS = 0,    /* go on to the parser and the message handler */
    WT_FORWARD = 1, /* send it out of the queue that it came from */
    WT_DROP = 2,    /* free it; counted as dropped by the handler */
};

/* A frame, from its Ethernet header on, without FCS. */
struct wt_packet {
    uint8_t *data;
    uint32_t length;   /* bytes */
    uint16_t headroom; /* writable bytes before data */
    uint16_t verdict;  /* enum wt_verdict; WT_PASS when the handler is called */
};

/* How an option's text is meant; the engine hands over plain numbers (bytes, count) or words. */
enum wt_option_type {
    WT_BYTES = 1,
    WT_COUNT = 2,
    WT_CHOICE = 3,
    WT_TEXT = 4,
    WT_FILE = 5, /* a path, relative to the scenario's file; handed over as an absolute one, "" for none */
};

struct wt_option {
    const char *name;      /* NULL ends the list */
    const char *fallback;  /* the value when the scenario names none */
    const char *choices;   /* WT_CHOICE: words separated by '|'; else NULL */
    const char *help;      /* one line */
    uint32_t type;         /* enum wt_option_type */
    uint32_t reserved;     /* 0 */
};

struct wt_value {
    const char *name;
    const char *value;
};

/* What a handler does in one call may fall into steps, each counted by itself: parse, look up, write back. */
enum wt_step_flags {
    /* It makes the traffic that the handler then meets, or checks what became of it: not the emulated application's work.
     * Its cycles stand apart, in none of the stage's work. */
    WT_STEP_TRAFFIC = 1u << 0,
};

struct wt_step_name {
    const char *name; /* NULL ends the list */
    uint32_t flags;   /* enum wt_step_flags */
    uint32_t reserved; /* 0 */
};

/* What one step did in a call whose cycles are taken. The handler adds, the engine takes it away after the call. */
struct wt_step {
    uint64_t cycles;  /* ticks of wt_ticks */
    uint64_t packets; /* that went through it (message handler: messages) */
    uint64_t stamps;  /* wt_ticks read for it: so many times what a stamp costs is in `cycles` */
};

#define WT_MAX_STEPS 24u

/* What a handler counts itself, beside its steps: shown with the run, window by window. */
enum wt_figure_kind {
    WT_COUNT_OF = 1, /* counts up from 0; shown as what a window added */
    WT_LEVEL_OF = 2, /* a state; shown as it is at the end of a window. Those of several instances are added up */
    WT_WRONG = 3,    /* counts up what must not be: anything but 0 makes the run invalid */
};

struct wt_figure {
    const char *of;    /* what it belongs to, as a table's name; "" where it is the handler's */
    const char *name;  /* NULL ends the list */
    const char *unit;  /* "lookups", "bytes" */
    uint32_t kind;     /* enum wt_figure_kind */
    uint32_t reserved; /* 0 */
};

#define WT_MAX_FIGURES 128u

/* What `open` is told. One call for each application (message handler) or dispatcher (packet handler). */
struct wt_open {
    uint32_t abi;
    uint32_t size;              /* of this structure in the engine that calls */
    uint32_t role;              /* enum wt_role */
    uint32_t index;             /* of the application or dispatcher in its endpoint */
    uint32_t workload;
    uint32_t request_length;    /* bytes of a request's body */
    uint32_t answer_length;     /* bytes of room for an answer's body */
    uint32_t scan;              /* 1: read every byte of the request */
    int32_t numa_socket;        /* of the worker, -1 where unknown */
    uint32_t option_count;      /* every option of the handler's list stands once, with a value */
    const struct wt_value *options;
    uint64_t seed;
    char *error;                /* room for words in case of refusal */
    size_t error_size;          /* bytes, terminator included */
    struct wt_step *const *steps; /* for a handler with steps, valid until `close`. *steps is NULL in a call whose cycles
                                   * are not taken (at `sampled` most are not), else an entry for each of its steps */
};

enum wt_handler_flags {
    WT_MOVES_DATA = 1u << 0, /* packet handler: it may change data, length within headroom; costs a write-back */
};

struct wt_handler {
    uint32_t abi;                    /* required: WT_HANDLER_ABI */
    uint32_t size;                   /* required: sizeof(struct wt_handler) */
    const char *name;                /* required */
    const char *help;                /* required: one line */
    uint32_t kind;                   /* required: enum wt_kind */
    uint32_t flags;                  /* enum wt_handler_flags */
    const struct wt_option *options; /* NULL: none */

    /* Required. Returns 0 and sets *state, or returns non-zero with words in open->error. May allocate. */
    int (*open)(const struct wt_open *open, void **state);

    /* Optional. Called once for each successful open, after the last burst. */
    void (*close)(void *state);

    /* Required for a message handler: answer a burst of requests. Must not allocate or wait. */
    void (*message)(void *state, struct wt_exchange *burst, uint32_t count);

    /* Optional, client side: write the bodies of requests. Without it the client sends a fixed pattern. A packet handler
     * beside a message handler is not asked. Must not allocate or wait. */
    void (*request)(void *state, const struct wt_message *burst, uint32_t count);

    /* Required for a packet handler: give each packet its verdict. Must not allocate or wait. */
    void (*packet)(void *state, struct wt_packet *burst, uint32_t count);

    /* Optional: the steps of an open handler, at most WT_MAX_STEPS, in their order; the list lives until `close`. */
    const struct wt_step_name *(*steps)(void *state);

    /* Optional: its figures, at most WT_MAX_FIGURES; the list lives until `close`. */
    const struct wt_figure *(*figures)(void *state);

    /* Required with `figures`: writes the present value of each. Called by another thread while bursts run: it reads what
     * one thread writes in one piece (an aligned uint64_t), and nothing that moves. */
    void (*read_figures)(void *state, uint64_t *values);
};

/* The clock that steps are counted in; reading it costs some 20 to 40 of its own ticks. It runs on while `compare` holds a
 * flight between two turns, for a window at a time and never inside a call: who keeps time from call to call sees the gaps. */
#if defined(__x86_64__)
static inline uint64_t wt_ticks(void) {
    return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
static inline uint64_t wt_ticks(void) {
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#endif

/* Books what was done since `since` to one step of a call whose cycles are taken; returns the start of the next step:
 *
 *     struct wt_step *const steps = *self->steps;
 *     uint64_t since = steps ? wt_ticks() : 0;
 *     parse(burst, count);
 *     if (steps) since = wt_step_end(&steps[PARSER], since, count);
 */
#if defined(__x86_64__) || defined(__aarch64__)
static inline uint64_t wt_step_end(struct wt_step *step, uint64_t since, uint64_t packets) {
    const uint64_t now = wt_ticks();
    step->cycles += now - since;
    step->packets += packets;
    step->stamps++;
    return now;
}
#endif

#ifdef __cplusplus
}
#endif
#endif
