/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The public interface of a handler, the emulated application.
 *
 * A message handler runs in the server's stage app_rx, on whole messages. A packet handler runs in disp_rx,
 * on frames before they are parsed. Built-in handlers and shared objects (`handler = "./libmine.so"`) are
 * called the same way: one indirect call per burst.
 *
 * A shared object exports one symbol:
 *
 *     const struct wt_handler wt_handler = { .abi = WT_HANDLER_ABI, .size = sizeof(struct wt_handler), ... };
 *
 * A handler gets views, never the engine's packet buffers. A view is valid only during the call that passes
 * it. This header compiles as C11 and as C++20.
 */
#ifndef WINDTUNNEL_HANDLER_H
#define WINDTUNNEL_HANDLER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <windtunnel/option.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Incremented whenever the meaning or the layout of anything below changes. The engine refuses any other
 * number. 1  first version 2  steps with their cycles, and the handler's own counters 3  names: response (was
 * answer), counters (was figures); copies of a response that the handler names; checks of responses */
#define WT_HANDLER_ABI 3u

enum wt_kind {
    WT_MESSAGE_HANDLER = 1,
    WT_PACKET_HANDLER = 2,
};

enum wt_role {
    WT_CLIENT = 1, /* the engine calls only the hook `request` */
    WT_SERVER = 2,
};

/* A piece of a message's body. The message header belongs to the engine and is not part of it. */
struct wt_segment {
    uint8_t *data;
    uint32_t length; /* bytes */
};

struct wt_message {
    const struct wt_segment *segments;
    uint32_t segment_count;
    uint32_t length; /* bytes in all segments */
};

enum wt_exchange_flags {
    /* set by the engine: the first segments of the response are the request's own memory */
    WT_RESPONSE_IN_REQUEST = 1u << 0,
    /* set by the handler: send no response; the client counts the request as lost */
    WT_NO_RESPONSE = 1u << 1,
};

#define WT_MAX_COPIES 4u

struct wt_copy {
    const uint8_t *from;
    uint32_t position; /* of the first byte, in the response's body */
    uint32_t length;   /* bytes */
};

/* Copies that a handler has named for one response: the engine makes them after the call. */
struct wt_copies {
    struct wt_copy list[WT_MAX_COPIES];
    uint32_t count;
    uint32_t reserved; /* 0 */
};

/* A request and the room for its response. The handler may lower response.length and must not raise it. */
struct wt_exchange {
    struct wt_message request;
    struct wt_message response;
    struct wt_copies *copies; /* for wt_response_copy(); NULL: nobody makes copies in the handler's place */
    uint16_t workload;
    uint16_t flags;    /* enum wt_exchange_flags */
    uint32_t reserved; /* 0 */
};

/* Names a copy: `length` bytes from `from` on go to `position` of the response's body. Where the workload has
 * a copier for responses it makes the copy after the call, and the response leaves then. Elsewhere, and from
 * the copy WT_MAX_COPIES + 1 of a response on, the bytes are copied here. What lies beyond response.length is
 * left out.
 *
 * The bytes must stay as they are until `close`: nobody says when the copy has ended. They must not lie in
 * the request, whose memory the response may use. What the handler itself writes to the same position is lost
 * or not: do not. */
static inline void wt_response_copy(struct wt_exchange *exchange, uint32_t position, const uint8_t *from,
                                    uint32_t length) {
    const struct wt_message *const body = &exchange->response;
    struct wt_copies *const copies = exchange->copies;
    uint32_t i;
    if (position >= body->length || length == 0) return;
    if (length > body->length - position) length = body->length - position;
    if (copies && copies->count < WT_MAX_COPIES) {
        copies->list[copies->count].from = from;
        copies->list[copies->count].position = position;
        copies->list[copies->count++].length = length;
        return;
    }
    for (i = 0; i < body->segment_count && length != 0; i++) {
        const struct wt_segment *const segment = &body->segments[i];
        uint32_t piece;
        if (position >= segment->length) {
            position -= segment->length;
            continue;
        }
        piece = segment->length - position < length ? segment->length - position : length;
        memcpy(segment->data + position, from, piece);
        from += piece;
        length -= piece;
        position = 0;
    }
}

/* A part of a response that the client checks, with what is known of its request. */
struct wt_part {
    const uint8_t *data;
    uint32_t length;   /* bytes */
    uint32_t position; /* of the first byte, in the response's body */
    uint64_t request;  /* the first 8 bytes of its request's body, filled up with zeros */
    uint32_t wrong;    /* set by the handler: how many bytes are wrong */
    uint32_t first;    /* set by the handler where some are: the first of them, from `data` on */
};

enum wt_verdict {
    WT_PASS = 0,    /* continue to the parser and the message handler */
    WT_FORWARD = 1, /* send it from the queue that received it */
    WT_DROP = 2,    /* free it; counted as dropped by the handler */
};

/* A frame without FCS; `data` points to its Ethernet header. */
struct wt_packet {
    uint8_t *data;
    uint32_t length;   /* bytes */
    uint16_t headroom; /* writable bytes before data */
    uint16_t verdict;  /* enum wt_verdict; WT_PASS when the handler is called */
};

/* The work of one call may be divided into steps that are counted separately: parse, look up, write back. */
enum wt_step_flags {
    /* The step generates or checks the handler's own test traffic. It is not the emulated application's work,
     * so its cycles are reported separately and are not part of the stage's work. */
    WT_STEP_TRAFFIC = 1u << 0,
};

struct wt_step_name {
    const char *name;  /* NULL ends the list */
    uint32_t flags;    /* enum wt_step_flags */
    uint32_t reserved; /* 0 */
};

/* One step's counts in a timed call. The handler adds to them; the engine collects and clears them after the
 * call. */
struct wt_step {
    uint64_t cycles;  /* in ticks of wt_ticks() */
    uint64_t packets; /* packets processed (message handler: messages) */
    uint64_t stamps;  /* calls of wt_ticks(): `cycles` contains the cost of this many stamps */
};

#define WT_MAX_STEPS 24u

/* What a handler counts itself, in addition to its steps. The run reports it for every window. */
enum wt_counter_kind {
    WT_COUNTER_TOTAL = 1, /* only increases; reported as the increase in the window */
    WT_COUNTER_LEVEL = 2, /* a state; reported at the end of the window, summed over instances */
    WT_COUNTER_ERROR = 3, /* counts errors: any value but 0 makes the run invalid */
};

struct wt_counter {
    const char *of;    /* what it belongs to, such as the name of a table; "" for the handler itself */
    const char *name;  /* NULL ends the list */
    const char *unit;  /* "lookups", "bytes" */
    uint32_t kind;     /* enum wt_counter_kind */
    uint32_t reserved; /* 0 */
};

#define WT_MAX_COUNTERS 128u

/* The arguments of `open`, which is called once for each application (message handler) or dispatcher (packet
 * handler). */
struct wt_open {
    uint32_t abi;
    uint32_t size;  /* of this structure in the calling engine */
    uint32_t role;  /* enum wt_role */
    uint32_t index; /* of the application or dispatcher in its endpoint */
    uint32_t workload;
    uint32_t request_length;  /* bytes of a request's body */
    uint32_t response_length; /* bytes of room for a response's body */
    uint32_t scan;            /* 1: read every byte of the request */
    int32_t numa_socket;      /* of the worker; -1 if unknown */
    uint32_t option_count;    /* every option of the handler's list, once, with a value */
    uint32_t copies;          /* 1: a copier makes the copies that the handler names */
    uint32_t reserved;        /* 0 */
    const struct wt_value *options;
    uint64_t seed;
    char *error;       /* room for the message of a failed open */
    size_t error_size; /* bytes, terminator included */
    /* For a handler with steps; valid until `close`. *steps has one entry for each step during a timed call
     * and is NULL during other calls (most of them at the accounting level `sampled`). */
    struct wt_step *const *steps;
};

enum wt_handler_flags {
    /* Packet handler: it may change `data`, and `length` within the headroom. The engine then writes both
       back. */
    WT_MOVES_DATA = 1u << 0,
    /* Message handler: it names copies of its responses, with wt_response_copy(). */
    WT_NAMES_COPIES = 1u << 1,
};

struct wt_handler {
    uint32_t abi;                    /* required: WT_HANDLER_ABI */
    uint32_t size;                   /* required: sizeof(struct wt_handler) */
    const char *name;                /* required */
    const char *help;                /* required: one line */
    uint32_t kind;                   /* required: enum wt_kind */
    uint32_t flags;                  /* enum wt_handler_flags */
    const struct wt_option *options; /* NULL: none */

    /* Required. Returns 0 and sets *state, or returns non-zero and writes a message to open->error. May
     * allocate. */
    int (*open)(const struct wt_open *open, void **state);

    /* Optional. Called once for each successful open, after the last burst. */
    void (*close)(void *state);

    /* Required for a message handler: writes the responses to a burst of requests. Must not allocate or wait.
     */
    void (*message)(void *state, struct wt_exchange *burst, uint32_t count);

    /* Optional, on the client: writes the bodies of requests. Without it the client sends a fixed pattern. If
     * the workload has both handlers, only the message handler's hook is called. Must not allocate or wait.
     */
    void (*request)(void *state, const struct wt_message *burst, uint32_t count);

    /* Required for a packet handler: sets the verdict of each packet. Must not allocate or wait. */
    void (*packet)(void *state, struct wt_packet *burst, uint32_t count);

    /* Optional: the steps of an open handler in order, at most WT_MAX_STEPS. The list is valid until `close`.
     */
    const struct wt_step_name *(*steps)(void *state);

    /* Optional: the handler's counters, at most WT_MAX_COUNTERS. The list is valid until `close`. */
    const struct wt_counter *(*counters)(void *state);

    /* Required with `counters`: writes the current value of each. Another thread calls it while bursts run,
     * so it may read only aligned uint64_t fields that one thread writes, at addresses that do not change. */
    void (*read_counters)(void *state, uint64_t *values);

    /* Optional, on the client: compares parts of responses with what they must be, and sets `wrong` and
     * `first` of each. Called where the workload's copies are verified, by the worker of app_rx: `request`
     * may run on another one meanwhile, so it reads only what `open` wrote. Must not allocate or wait. */
    void (*check)(void *state, struct wt_part *burst, uint32_t count);
};

/* The clock of the steps' cycles. A read costs 20 to 40 of its ticks. It does not stop while `compare` pauses
 * a run between two windows: a handler that measures time across calls sees these gaps. A run is never paused
 * in a call. */
#if defined(__x86_64__)
static inline uint64_t wt_ticks(void) { return __builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
static inline uint64_t wt_ticks(void) {
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#endif

/* Adds the cycles since `since` to one step of a timed call. Returns the start of the next step:
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
