#include <isa-l/igzip_lib.h>

#include "handlers/applications/body.h"
#include "handlers/applications/inflating.h"
#include "handlers/applications/opening.h"

static void *isal_open(const struct wt_open *open) {
    struct inflate_state *self = wt_take_memory(open, "isal", sizeof *self);
    if (self) isal_inflate_init(self);
    return self;
}

static enum inflating_status isal_run(void *state, const struct wt_message *m, uint32_t from, uint32_t length,
                                      uint8_t *to, uint32_t room, struct inflated *result) {
    struct inflate_state *z = state;
    struct body_walk walk = body_from(m, from, length);
    struct wt_segment piece;
    int said = ISAL_DECOMP_OK;
    isal_inflate_reset(z);
    z->crc_flag = ISAL_ZLIB;
    z->next_out = to;
    z->avail_out = room;
    z->avail_in = 0;
    while (said == ISAL_DECOMP_OK && z->block_state != ISAL_BLOCK_FINISH && body_next(&walk, &piece)) {
        z->next_in = piece.data;
        z->avail_in = piece.length;
        said = isal_inflate(z);
        if (said == ISAL_DECOMP_OK && z->avail_out == 0) break; /* no room for what is still to come */
    }
    if (said != ISAL_DECOMP_OK) return CORRUPT;
    if (z->block_state != ISAL_BLOCK_FINISH) return z->avail_out == 0 ? WRONG_LENGTH : CORRUPT;
    /* it reads ahead: bytes behind the stream may wait there */
    if (z->avail_in != 0 || z->read_in_length >= 8 || walk.left != 0) return CORRUPT;
    *result = (struct inflated){.length = room - z->avail_out, .adler = z->crc};
    return INFLATED;
}

const struct inflating wt_inflating_isal = {"isal", isal_open, isal_run};
