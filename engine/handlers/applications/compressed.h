/* What the client of `decompress` sends: zlib streams of data that compresses as well as it is told to, made
 * before the run. */
#ifndef WT_HANDLERS_COMPRESSED_H
#define WT_HANDLERS_COMPRESSED_H

#include <windtunnel/handler.h>

struct compressed {
    uint8_t *stream;
    uint32_t length; /* of the stream */
    uint32_t adler;  /* of what it holds */
    uint64_t holds;  /* bytes, uncompressed */
};

/* The most that a stream of `room` bytes will hold. */
uint64_t compressed_most(uint32_t room, double ratio);

/* `count` streams of at most `room` bytes each, at least 64, and not much less, that hold about `ratio` times
 * as much: within a tenth from 10 KB on. The same seed makes the same ones. Returns 0, or -1 with words in
 * open->error; the caller frees what there is. */
int compressed_make(const struct wt_open *open, uint32_t room, double ratio, int level, uint64_t seed,
                    struct compressed *streams, uint32_t count);

#endif
