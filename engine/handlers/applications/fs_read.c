/* `fs_read`: responds with a piece of a file, as long as the response has room.
 *
 * The first 8 bytes of a request (those that there are) name the position; it is brought inside the file by a
 * remainder. A piece that cannot be read gets no response; `close` writes the reason to the engine's log.
 *
 * A piece of a file in memory is a copy that a copier may make: nobody writes to the file. The kernel copies
 * out of a real one. */
#include <stdio.h>
#include <stdlib.h>

#include "core/random_bytes.h"
#include "handlers/applications/body.h"
#include "handlers/applications/fs_file.h"
#include "handlers/applications/fs_response.h"
#include "handlers/applications/opening.h"

enum { HEAD = sizeof(struct fs_response) };

struct fs_read {
    struct fs_file file;
    uint64_t requests, failed;
    int error; /* the last failure's */
    uint32_t scan;
    uint32_t longest; /* piece, bytes */
    uint64_t starts;  /* positions in the file at which it may begin */
    /* client */
    uint32_t random;
    uint64_t next; /* random: the generator's state; sequential: the position */
};

static void fs_read_close(void *state) {
    struct fs_read *self = state;
    if (self->failed != 0)
        fprintf(stderr, "fs_read: %llu of %llu requests could not be read and got no response: %s\n",
                (unsigned long long)self->failed, (unsigned long long)self->requests, strerror(self->error));
    fs_file_close(&self->file);
    free(self);
}

static int open_server(const struct wt_open *open, struct fs_read *self) {
    if (open->copies && *wt_text(open, "directory"))
        return wt_refuse(open,
                         "directory = %s: the kernel copies out of a real file, so there is nothing for a "
                         "copier: leave out the directory, or the copies",
                         wt_text(open, "directory"));
    if (fs_file_open(open, open->response_length, &self->file) != 0) return -1;
    return fs_file_load(open, &self->file);
}

static int fs_read_open(const struct wt_open *open, void **state) {
    struct fs_read *self = wt_take_memory(open, "fs_read", sizeof *self);
    if (!self) return -1;
    const uint64_t size = wt_number(open, "file");
    self->file.descriptor = -1;
    self->scan = open->scan;
    self->longest = open->response_length > HEAD ? open->response_length - HEAD : 0;
    self->starts = self->longest < size ? size - self->longest + 1 : 1;
    if (open->role == WT_CLIENT) {
        self->random = strcmp(wt_text(open, "pattern"), "random") == 0;
        self->next = self->random ? mix64(open->seed + open->index) : 0;
    } else if (open_server(open, self) != 0) {
        fs_read_close(self);
        return -1;
    }
    *state = self;
    return 0;
}

/* The request's memory may be the response's: it is read to the end before the response is begun. */
static int read_piece(const struct fs_read *self, struct wt_exchange *e) {
    struct fs_response head = {0, self->scan ? body_scan(&e->request) : 0};
    body_read(&e->request, 0, &head.position, sizeof head.position);
    const uint32_t room = e->response.length > HEAD ? e->response.length - HEAD : 0;
    const uint32_t bytes = room < self->longest ? room : self->longest;
    head.position %= self->starts;
    e->response.length = body_write(&e->response, 0, &head, sizeof head) + bytes;
    if (!self->file.memory) return fs_file_read(&self->file, head.position, &e->response, HEAD, bytes);
    wt_response_copy(e, HEAD, self->file.memory + head.position, bytes);
    return 0;
}

static void fs_read_message(void *state, struct wt_exchange *burst, uint32_t count) {
    struct fs_read *self = state;
    self->requests += count;
    for (uint32_t i = 0; i < count; ++i) {
        const int error = read_piece(self, &burst[i]);
        if (error == 0) continue;
        self->error = error;
        ++self->failed;
        burst[i].flags |= WT_NO_RESPONSE;
    }
}

/* Client: the position, then zeros. */
static void fs_read_request(void *state, const struct wt_message *burst, uint32_t count) {
    struct fs_read *self = state;
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t position = self->random ? random_next(&self->next) : self->next;
        if (!self->random) self->next += self->longest;
        body_write(&burst[i], 0, &position, sizeof position);
        body_fill(&burst[i], sizeof position, 0);
    }
}

/* The part of a response that lies in its head. Returns how many bytes of it. */
static uint32_t check_head(const struct fs_response *head, struct wt_part *part) {
    if (part->position >= HEAD) return 0;
    const uint32_t left = HEAD - part->position, bytes = part->length < left ? part->length : left;
    const uint8_t *const wanted = (const uint8_t *)head + part->position;
    for (uint32_t i = 0; i < bytes; ++i)
        if (part->data[i] != wanted[i] && part->wrong++ == 0) part->first = i;
    return bytes;
}

static void check_part(const struct fs_read *self, struct wt_part *part) {
    const struct fs_response head = {part->request % self->starts, self->scan ? part->request : 0};
    part->wrong = 0;
    const uint32_t in_head = check_head(&head, part);
    const struct wrong_bytes wrong =
        random_bytes_compare(FS_FILE_SEED, head.position + part->position + in_head - HEAD,
                             part->data + in_head, part->length - in_head);
    if (wrong.count != 0 && part->wrong == 0) part->first = in_head + wrong.first;
    part->wrong += wrong.count;
}

/* Client: every byte of a response follows from the position that its request asked for. The request is
 * zeros behind it: its scan is the position. */
static void fs_read_check(void *state, struct wt_part *burst, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) check_part(state, &burst[i]);
}

static const struct wt_option fs_read_options[] = {
    {"file", "67108864", NULL, "size of a file", WT_BYTES, 0},
    {"directory", "", NULL, "where nameless files keep the bytes; empty: in memory", WT_TEXT, 0},
    {"pattern", "random", "random|sequential", "positions that the client asks for", WT_CHOICE, 0},
    {NULL, NULL, NULL, NULL, 0, 0},
};

const struct wt_handler wt_fs_read = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "fs_read",
    .help = "responds with a piece of a file, in memory or on disk",
    .kind = WT_MESSAGE_HANDLER,
    .flags = WT_NAMES_COPIES,
    .options = fs_read_options,
    .open = fs_read_open,
    .close = fs_read_close,
    .message = fs_read_message,
    .request = fs_read_request,
    .check = fs_read_check,
};
