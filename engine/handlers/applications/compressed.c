#include "handlers/applications/compressed.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/sampler.h"
#include "handlers/applications/opening.h"

enum { SAMPLE = 256 << 10, WINDOW = 32 << 10 };

uint64_t compressed_most(uint32_t room, double ratio) { return (uint64_t)(1.25 * ratio * room) + 1024; }

/* Data as LZ77 sees it: bytes of chance, and with a chance of `copies` a copy of what came up to 32 KiB
 * before. Chance alone does not compress; the longer the copies and the more there are, the better it does.
 * The first n bytes are the same whatever `length` is. */
static void synthesize(uint8_t *to, uint64_t length, double copies, double ratio, uint64_t random) {
    const uint64_t longest = 32 + (uint64_t)(32 * ratio);
    for (uint64_t at = 0; at < length;) {
        const bool copy = wt_unit(&random) < copies && at != 0;
        if (!copy) {
            to[at++] = (uint8_t)random_next(&random);
            continue;
        }
        const uint64_t back = 1 + random_below(&random, at < WINDOW ? at : WINDOW);
        uint64_t left = 4 + random_below(&random, longest);
        for (; left != 0 && at < length; --left, ++at) to[at] = to[at - back];
    }
}

/* What is worked in while streams are made. */
struct workshop {
    uint8_t *plain, *packed;
    uint64_t most;       /* bytes of `plain` */
    unsigned long bound; /* bytes of `packed` */
    int level;
};

static uint64_t pack(const struct workshop *w, uint64_t bytes) {
    unsigned long length = w->bound; /* of compressBound: it always fits */
    compress2(w->packed, &length, w->plain, bytes, w->level);
    return length;
}

/* The chance of a copy that comes nearest to the ratio, by halving. */
static double find_copies(const struct workshop *w, uint32_t room, double ratio, uint64_t seed) {
    const double wanted = ratio * room;
    const uint64_t bytes = wanted < SAMPLE ? (uint64_t)wanted : SAMPLE;
    double low = 0, high = 1;
    for (int i = 0; i < 12; ++i) {
        const double middle = (low + high) / 2;
        synthesize(w->plain, bytes, middle, ratio, seed);
        if ((double)bytes < ratio * (double)pack(w, bytes))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* As much of the data as fills the room: each try is scaled by what the one before came to, a little less
 * each time. Returns the bytes that fit; their stream lies in w->packed, *length bytes long. */
static uint64_t fill(const struct workshop *w, uint32_t room, double ratio, uint64_t *length) {
    double bytes = ratio * room;
    for (double aim = 0.999;; aim -= 0.004) {
        *length = pack(w, (uint64_t)bytes);
        if (*length <= room && (*length >= (aim - 0.02) * room || aim < 0.9 || bytes == (double)w->most))
            return (uint64_t)bytes;
        bytes *= (aim > 0.5 ? aim : 0.5) * room / (double)*length;
        if (bytes > (double)w->most) bytes = (double)w->most;
    }
}

static int make_one(const struct wt_open *open, const struct workshop *w, uint32_t room, double ratio,
                    struct compressed *one) {
    uint64_t length;
    one->holds = fill(w, room, ratio, &length);
    one->length = (uint32_t)length;
    one->adler = (uint32_t)adler32_z(adler32(0, NULL, 0), w->plain, one->holds);
    one->stream = wt_take_memory(open, "streams", length);
    if (!one->stream) return -1;
    memcpy(one->stream, w->packed, length);
    return 0;
}

int compressed_make(const struct wt_open *open, uint32_t room, double ratio, int level, uint64_t seed,
                    struct compressed *streams, uint32_t count) {
    struct workshop w = {.most = compressed_most(room, ratio), .level = level};
    int failed = 0;
    w.bound = compressBound(w.most);
    w.plain = wt_take_memory(open, "ratio", w.most);
    w.packed = w.plain ? wt_take_memory(open, "ratio", w.bound) : NULL;
    if (!w.packed) failed = -1;
    const double copies = failed ? 0 : find_copies(&w, room, ratio, seed);
    for (uint32_t i = 0; i < count && !failed; ++i) {
        synthesize(w.plain, w.most, copies, ratio, mix64(seed + i));
        failed = make_one(open, &w, room, ratio, &streams[i]);
    }
    free(w.plain);
    free(w.packed);
    return failed;
}
