/* What `decompress` inflates with: a zlib stream (RFC 1950), read where it lies, piece by piece.
 *
 * All memory is taken at open. */
#ifndef WT_HANDLERS_INFLATING_H
#define WT_HANDLERS_INFLATING_H

#include <windtunnel/handler.h>

/* The outcome, as the response has it; docs/reference/handlers.md. */
enum inflating_status {
    INFLATED = 0,
    CORRUPT = 1,      /* no zlib stream, cut short, with bytes behind its end, or its own checksum is wrong */
    WRONG_LENGTH = 2, /* the output is shorter or longer than the request says */
    WRONG_CHECKSUM = 3, /* the output's Adler-32 is not what the request says */
    TOO_LONG = 4,       /* the request announces more output than there is room for */
    BAD_REQUEST = 5,    /* no head, or less stream than it says */
    INFLATING_STATUSES,
};

struct inflated {
    uint64_t length;
    uint32_t adler; /* of the output, computed from it */
};

struct inflating {
    const char *name;
    /* NULL with words in open->error where it cannot be; given back with free() */
    void *(*open)(const struct wt_open *open);
    /* Inflates `length` bytes of the body from `from` on, to `room` bytes at `to`. INFLATED, and sets
     * *result, where the stream ended well; CORRUPT; WRONG_LENGTH where the output needs more than `room`. */
    enum inflating_status (*inflate)(void *state, const struct wt_message *m, uint32_t from, uint32_t length,
                                     uint8_t *to, uint32_t room, struct inflated *result);
};

extern const struct inflating wt_inflating_zlib;
extern const struct inflating wt_inflating_isal; /* where the engine was built with it: WT_HAVE_ISAL */

#endif
