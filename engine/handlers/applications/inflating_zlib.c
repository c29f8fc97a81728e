#include <stdlib.h>
#include <zlib.h>

#include "handlers/applications/body.h"
#include "handlers/applications/inflating.h"
#include "handlers/applications/opening.h"

/* zlib takes its window when it first needs one, which is in the run: it gets it from here. zlib itself
 * needs 40 KiB, its successors that stand in for it a little more. */
enum { ARENA = 256 << 10, ALIGNED = 64 };

struct zlib_state {
    z_stream z;
    uint32_t used;
    _Alignas(ALIGNED) uint8_t arena[ARENA];
};

static void *from_arena(void *state, unsigned items, unsigned size) {
    struct zlib_state *self = state;
    const uint64_t bytes = ((uint64_t)items * size + ALIGNED - 1) & ~(uint64_t)(ALIGNED - 1);
    if (bytes > ARENA - self->used) return NULL;
    void *memory = self->arena + self->used;
    self->used += (uint32_t)bytes;
    return memory;
}

static void to_arena(void *state, void *memory) {
    (void)state;
    (void)memory;
}

static void *zlib_open(const struct wt_open *open) {
    struct zlib_state *self = wt_take_memory(open, "zlib", sizeof *self);
    if (!self) return NULL;
    self->z = (z_stream){.zalloc = from_arena, .zfree = to_arena, .opaque = self};
    if (inflateInit(&self->z) == Z_OK) return self;
    wt_refuse(open, "zlib %s does not start: %s", zlibVersion(), self->z.msg ? self->z.msg : "no reason");
    free(self);
    return NULL;
}

static enum inflating_status zlib_inflate(void *state, const struct wt_message *m, uint32_t from,
                                          uint32_t length, uint8_t *to, uint32_t room,
                                          struct inflated *result) {
    z_stream *z = &((struct zlib_state *)state)->z;
    struct body_walk walk = body_from(m, from, length);
    struct wt_segment piece;
    int said = inflateReset(z);
    z->next_out = to;
    z->avail_out = room;
    z->avail_in = 0;
    while (said == Z_OK && body_next(&walk, &piece)) {
        z->next_in = piece.data;
        z->avail_in = piece.length;
        said = inflate(z, Z_NO_FLUSH);
        if (said == Z_OK && z->avail_in != 0) break; /* no room for what is still to come */
    }
    if (said == Z_STREAM_END && z->avail_in == 0 && walk.left == 0) {
        *result = (struct inflated){.length = room - z->avail_out, .adler = (uint32_t)z->adler};
        return INFLATED;
    }
    return (said == Z_OK || said == Z_BUF_ERROR) && z->avail_out == 0 ? WRONG_LENGTH : CORRUPT;
}

const struct inflating wt_inflating_zlib = {"zlib", zlib_open, zlib_inflate};
