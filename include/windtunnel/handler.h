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

/* Raised whenever the meaning or the layout of anything below changes. The engine refuses any other number. */
#define WT_HANDLER_ABI 1u

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

    /* Optional for a message handler, client side: write the bodies of requests. Without it the client sends
     * a fixed pattern. Must not allocate or wait. */
    void (*request)(void *state, const struct wt_message *burst, uint32_t count);

    /* Required for a packet handler: give each packet its verdict. Must not allocate or wait. */
    void (*packet)(void *state, struct wt_packet *burst, uint32_t count);
};

#ifdef __cplusplus
}
#endif
#endif
