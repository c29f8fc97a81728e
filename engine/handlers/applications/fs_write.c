/* `fs_write`: appends the request's body to a file; the response says where.
 *
 * A file that is full is followed by a fresh one, and the one before the last is emptied: never more than two
 * are kept; in memory the one file is begun again. A body that cannot be stored (a full disk) gets no
 * response: its client counts it as lost, this side as `without_response`, and `close` writes the reason to
 * the engine's log.
 *
 * It names no copies (wt_response_copy): the response may lie in the request's memory, so the bytes to be
 * stored would change under a copier.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "handlers/applications/body.h"
#include "handlers/applications/fs_file.h"
#include "handlers/applications/fs_response.h"
#include "handlers/applications/opening.h"

struct fs_write {
    struct fs_file files[2]; /* in memory: the first alone */
    uint32_t current;
    uint32_t scan;
    uint64_t position; /* in the current file */
    uint64_t stored;   /* bytes, ever */
    uint64_t requests, failed;
    int error; /* the last failure's */
};

static void fs_write_close(void *state) {
    struct fs_write *self = state;
    if (!self) return;
    if (self->failed != 0)
        fprintf(stderr, "fs_write: %llu of %llu requests could not be stored and got no response: %s\n",
                (unsigned long long)self->failed, (unsigned long long)self->requests, strerror(self->error));
    fs_file_close(&self->files[0]);
    fs_file_close(&self->files[1]);
    free(self);
}

static int fs_write_open(const struct wt_open *open, void **state) {
    *state = NULL;
    if (open->role == WT_CLIENT) return 0;
    struct fs_write *self = wt_take_memory(open, "fs_write", sizeof *self);
    if (!self) return -1;
    self->files[0].descriptor = self->files[1].descriptor = -1;
    self->scan = open->scan;
    int failed = fs_file_open(open, open->request_length, &self->files[0]);
    if (!failed && !self->files[0].memory) failed = fs_file_open(open, open->request_length, &self->files[1]);
    if (failed) {
        fs_write_close(self);
        return -1;
    }
    *state = self;
    return 0;
}

/* Returns 0 or an errno value. */
static int rotate(struct fs_write *self) {
    if (!self->files[0].memory) {
        if (ftruncate(self->files[self->current ^ 1].descriptor, 0) != 0) return errno;
        self->current ^= 1;
    }
    self->position = 0;
    return 0;
}

/* Returns 0 or an errno value: then nothing counts as stored. */
static int append(struct fs_write *self, const struct wt_message *body) {
    const uint64_t size = self->files[self->current].size;
    if (body->length > size) return EFBIG;
    if (body->length > size - self->position) {
        const int error = rotate(self);
        if (error != 0) return error;
    }
    const int error = fs_file_write(&self->files[self->current], self->position, body);
    if (error != 0) return error;
    self->position += body->length;
    self->stored += body->length;
    return 0;
}

static void fs_write_message(void *state, struct wt_exchange *burst, uint32_t count) {
    struct fs_write *self = state;
    self->requests += count;
    for (uint32_t i = 0; i < count; ++i) {
        struct wt_exchange *e = &burst[i];
        const struct fs_response response = {self->stored, self->scan ? body_scan(&e->request) : 0};
        const int error = append(self, &e->request);
        if (error != 0) {
            self->error = error;
            ++self->failed;
            e->flags |= WT_NO_RESPONSE;
            continue;
        }
        body_write(&e->response, 0, &response, sizeof response);
        body_fill(&e->response, sizeof response, 0);
    }
}

static const struct wt_option fs_write_options[] = {
    {"file", "67108864", NULL, "size of a file", WT_BYTES, 0},
    {"directory", "", NULL, "where nameless files keep the bytes; empty: in memory", WT_TEXT, 0},
    {NULL, NULL, NULL, NULL, 0, 0},
};

const struct wt_handler wt_fs_write = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "fs_write",
    .help = "appends the request to a file, in memory or on disk; small response",
    .kind = WT_MESSAGE_HANDLER,
    .options = fs_write_options,
    .open = fs_write_open,
    .close = fs_write_close,
    .message = fs_write_message,
};
