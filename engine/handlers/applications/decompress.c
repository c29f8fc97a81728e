/* `decompress`: a large compressed request is inflated, its output checked against what the request says;
 * docs/reference/handlers.md has the formats.
 *
 * The stream is read where it lies, a segment at a time, and the whole output written to memory of the state.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/random.h"
#include "handlers/applications/body.h"
#include "handlers/applications/compressed.h"
#include "handlers/applications/inflating.h"
#include "handlers/applications/opening.h"

struct decompress_request {
    uint32_t stream_length; /* bytes of the stream that follows */
    uint32_t adler;         /* of its output */
    uint64_t output_length;
};
struct decompress_response {
    uint8_t status; /* enum inflating_status */
    uint8_t zero[3];
    uint32_t adler;         /* of the output; 0 where the stream did not end well */
    uint64_t output_length; /* likewise */
    uint64_t scan;          /* of the request, 0 without */
};
_Static_assert(sizeof(struct decompress_request) == 16, "as it stands in docs/reference/handlers.md");
_Static_assert(sizeof(struct decompress_response) == 24, "as it stands in docs/reference/handlers.md");

enum { LEAST_STREAM = 64, SLACK = 64 }; /* slack: detects an output that is too long */

struct decompress {
    const struct inflating *library;
    void *inflating;
    uint8_t *output;
    uint64_t most;                                    /* bytes of output that there is room for */
    uint64_t requests, responses[INFLATING_STATUSES]; /* by status */
    uint32_t scan;
    /* client */
    uint32_t count;
    struct compressed *streams;
    uint64_t random;
};

static const char *const reasons[INFLATING_STATUSES] = {
    [INFLATED] = NULL,
    [CORRUPT] = "had a corrupt stream",
    [WRONG_LENGTH] = "had an output of another length",
    [WRONG_CHECKSUM] = "had an output of another checksum",
    [TOO_LONG] = "announced more output than there is room for",
    [BAD_REQUEST] = "were malformed",
};

static void decompress_close(void *state) {
    struct decompress *self = state;
    for (int i = 0; i < INFLATING_STATUSES; ++i)
        if (reasons[i] && self->responses[i] != 0)
            fprintf(stderr, "decompress: %llu of %llu requests %s\n", (unsigned long long)self->responses[i],
                    (unsigned long long)self->requests, reasons[i]);
    for (uint32_t i = 0; i < self->count; ++i) free(self->streams[i].stream);
    free(self->streams);
    free(self->inflating);
    free(self->output);
    free(self);
}

static const struct inflating *library_named(const char *name) {
#ifdef WT_HAVE_ISAL
    if (strcmp(name, wt_inflating_isal.name) == 0) return &wt_inflating_isal;
#endif
    (void)name;
    return &wt_inflating_zlib;
}

static int open_server(const struct wt_open *open, struct decompress *self, double ratio) {
    if (open->response_length < sizeof(struct decompress_response))
        return wt_refuse(open, "a response body of %u bytes is too small for the %zu bytes of this response",
                         open->response_length, sizeof(struct decompress_response));
    self->most = compressed_most(open->request_length, ratio);
    self->output = wt_take_memory(open, "ratio", self->most + SLACK);
    if (!self->output) return -1;
    self->library = library_named(wt_text(open, "library"));
    self->inflating = self->library->open(open);
    return self->inflating ? 0 : -1;
}

static int open_client(const struct wt_open *open, struct decompress *self, double ratio, uint64_t level) {
    const uint32_t least = sizeof(struct decompress_request) + LEAST_STREAM;
    const uint64_t count = wt_number(open, "streams");
    if (open->request_length < least)
        return wt_refuse(open, "a request body of %u bytes is too short to be compressed: the minimum is %u",
                         open->request_length, least);
    if (count < 1 || count > 1024)
        return wt_refuse(open, "streams = %llu is not between 1 and 1024", (unsigned long long)count);
    self->streams = wt_take_memory(open, "streams", count * sizeof *self->streams);
    if (!self->streams) return -1;
    self->count = (uint32_t)count;
    self->random = mix64(open->seed + open->index);
    return compressed_make(open, open->request_length - (uint32_t)sizeof(struct decompress_request), ratio,
                           (int)level, random_next(&self->random), self->streams, self->count);
}

static int decompress_open(const struct wt_open *open, void **state) {
    const uint64_t level = wt_number(open, "level");
    double ratio;
    if (wt_real(open, "ratio", &ratio) != 0) return -1;
    if (!(ratio >= 1 && ratio <= 20))
        return wt_refuse(open, "ratio = %s is not between 1 and 20", wt_text(open, "ratio"));
    if (level < 1 || level > 9)
        return wt_refuse(open, "level = %llu is not between 1 and 9", (unsigned long long)level);
    struct decompress *self = wt_take_memory(open, "decompress", sizeof *self);
    if (!self) return -1;
    self->scan = open->scan;
    if ((open->role == WT_SERVER ? open_server(open, self, ratio) : open_client(open, self, ratio, level)) !=
        0) {
        decompress_close(self);
        return -1;
    }
    *state = self;
    return 0;
}

static enum inflating_status inflate_request(struct decompress *self, const struct wt_message *m,
                                             struct inflated *result) {
    struct decompress_request head;
    if (body_read(m, 0, &head, sizeof head) < sizeof head || head.stream_length > m->length - sizeof head)
        return BAD_REQUEST;
    if (head.output_length > self->most) return TOO_LONG;
    const enum inflating_status status =
        self->library->inflate(self->inflating, m, sizeof head, head.stream_length, self->output,
                               (uint32_t)head.output_length + SLACK, result);
    if (status != INFLATED) return status;
    if (result->length != head.output_length) return WRONG_LENGTH;
    return result->adler == head.adler ? INFLATED : WRONG_CHECKSUM;
}

/* The request's memory may be the response's: it is read to the end before the response is begun. */
static void decompress_message(void *state, struct wt_exchange *burst, uint32_t count) {
    struct decompress *self = state;
    self->requests += count;
    for (uint32_t i = 0; i < count; ++i) {
        struct wt_exchange *e = &burst[i];
        struct inflated result = {0, 0};
        struct decompress_response response = {.scan = self->scan ? body_scan(&e->request) : 0};
        response.status = (uint8_t)inflate_request(self, &e->request, &result);
        response.adler = result.adler;
        response.output_length = result.length;
        ++self->responses[response.status];
        e->response.length = body_write(&e->response, 0, &response, sizeof response);
    }
}

/* Client: one of the streams, then zeros. */
static void decompress_request(void *state, const struct wt_message *burst, uint32_t count) {
    struct decompress *self = state;
    for (uint32_t i = 0; i < count; ++i) {
        const struct compressed *one = &self->streams[random_below(&self->random, self->count)];
        const struct decompress_request head = {one->length, one->adler, one->holds};
        body_write(&burst[i], 0, &head, sizeof head);
        body_write(&burst[i], sizeof head, one->stream, one->length);
        body_fill(&burst[i], sizeof head + one->length, 0);
    }
}

#ifdef WT_HAVE_ISAL
#define LIBRARIES "zlib|isal"
#else
#define LIBRARIES "zlib"
#endif

static const struct wt_option decompress_options[] = {
    {"library", "zlib", LIBRARIES, "the library; isal (ISA-L) if the engine was built with libisal-dev",
     WT_CHOICE, 0},
    {"ratio", "3", NULL, "bytes of output for each compressed one, about; 1 to 20", WT_TEXT, 0},
    {"level", "6", NULL, "zlib's level with which the client compressed, 1 to 9", WT_COUNT, 0},
    {"streams", "4", NULL, "different streams that each client application sends in turns of chance",
     WT_COUNT, 0},
    {NULL, NULL, NULL, NULL, 0, 0},
};

const struct wt_handler wt_decompress = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "decompress",
    .help = "inflates a compressed request and checks the output",
    .kind = WT_MESSAGE_HANDLER,
    .options = decompress_options,
    .open = decompress_open,
    .close = decompress_close,
    .message = decompress_message,
    .request = decompress_request,
};
