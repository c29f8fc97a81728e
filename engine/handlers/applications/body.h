/* A message's body, wherever its segments are cut.
 *
 * What these functions compute and write depends on the body's bytes alone, never on the cuts, so that an
 * answer is the same whatever the MTU is. Every function stays inside the segments and inside `length`.
 */
#ifndef WT_HANDLERS_BODY_H
#define WT_HANDLERS_BODY_H

#include <assert.h>
#include <stdbool.h>
#include <string.h>
#include <windtunnel/handler.h>

/* Words are laid down as the CPU has them, and shifting by bytes assumes this order. */
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "bodies are little-endian");

/* A walk over the bytes [from, from + bytes) of a body, piece by piece. */
struct body_walk {
    const struct wt_segment *segment, *end;
    uint32_t skip, left;
};

static inline struct body_walk body_from(const struct wt_message *m, uint32_t from, uint32_t bytes) {
    const uint32_t inside = from < m->length ? m->length - from : 0;
    return (struct body_walk){m->segments, m->segments + m->segment_count, from,
                              bytes < inside ? bytes : inside};
}

static inline bool body_next(struct body_walk *walk, struct wt_segment *piece) {
    for (; walk->left != 0 && walk->segment != walk->end; ++walk->segment) {
        const uint32_t length = walk->segment->length;
        if (walk->skip >= length) {
            walk->skip -= length;
            continue;
        }
        const uint32_t rest = length - walk->skip;
        *piece = (struct wt_segment){walk->segment->data + walk->skip, rest < walk->left ? rest : walk->left};
        walk->left -= piece->length;
        walk->skip = 0;
        ++walk->segment;
        return true;
    }
    return false;
}

static inline bool body_is_one_piece(const struct wt_message *m) {
    return __builtin_expect(m->segment_count == 1 && m->length <= m->segments->length, 1);
}

/* Copies up to `bytes` bytes out of the body; returns how many there were. */
static inline uint32_t body_read(const struct wt_message *m, uint32_t from, void *to, uint32_t bytes) {
    struct body_walk walk = body_from(m, from, bytes);
    struct wt_segment piece;
    uint32_t done = 0;
    while (body_next(&walk, &piece)) {
        memcpy((uint8_t *)to + done, piece.data, piece.length);
        done += piece.length;
    }
    return done;
}

/* Copies up to `bytes` bytes into the body; returns for how many there was room. */
static inline uint32_t body_write(const struct wt_message *m, uint32_t from, const void *source,
                                  uint32_t bytes) {
    struct body_walk walk = body_from(m, from, bytes);
    struct wt_segment piece;
    uint32_t done = 0;
    while (body_next(&walk, &piece)) {
        memcpy(piece.data, (const uint8_t *)source + done, piece.length);
        done += piece.length;
    }
    return done;
}

typedef uint64_t body_words __attribute__((vector_size(16)));

static inline uint64_t body_rotate(uint64_t word, uint32_t left) {
    return left == 0 ? word : word << left | word >> (64 - left);
}

/* XOR of the 64-bit words of `length` bytes, the last one filled up with zeros. */
static inline uint64_t body_xor(const uint8_t *at, uint32_t length) {
    body_words sums[4] = {{0}}, two;
    uint64_t all = 0, word = 0;
    if (length < sizeof word) {
        memcpy(&word, at, length);
        return word;
    }
    for (; length >= sizeof sums; length -= sizeof sums) {
        for (int i = 0; i < 4; ++i, at += sizeof two) { /* four sums: no XOR waits for the one before it */
            memcpy(&two, at, sizeof two);
            sums[i] ^= two;
        }
    }
    const body_words sum = (sums[0] ^ sums[1]) ^ (sums[2] ^ sums[3]);
    all = sum[0] ^ sum[1];
    for (; length >= sizeof word; at += sizeof word, length -= sizeof word) {
        memcpy(&word, at, sizeof word);
        all ^= word;
    }
    if (length == 0) return all;
    /* the word that ends with the last byte, without the bytes that have been read: a copy of a length that
     * the compiler does not know would go through a call and memory */
    memcpy(&word, at + length - sizeof word, sizeof word);
    return all ^ word >> (sizeof word - length) * 8;
}

/* Reads every byte: the XOR of the body's 64-bit words. To change one byte, any, changes it. XOR rather than
 * a sum, because rotated it does not mind where the segments are cut. */
static inline uint64_t body_scan(const struct wt_message *m) {
    if (body_is_one_piece(m)) return body_xor(m->segments->data, m->length);
    uint64_t all = 0;
    uint32_t at = 0;
    struct body_walk walk = body_from(m, 0, m->length);
    struct wt_segment piece;
    while (body_next(&walk, &piece)) {
        all ^= body_rotate(body_xor(piece.data, piece.length), at % 8 * 8);
        at += piece.length;
    }
    return all;
}

/* Writes `length` bytes with `word`, over and over, its first byte first. */
static inline void body_fill_piece(uint8_t *at, uint32_t length, uint64_t word) {
    const body_words two = {word, word};
    if (length < sizeof word) {
        memcpy(at, &word, length);
        return;
    }
    for (; length >= sizeof two; at += sizeof two, length -= sizeof two) memcpy(at, &two, sizeof two);
    if (length >= sizeof word) {
        memcpy(at, &word, sizeof word);
        at += sizeof word;
        length -= sizeof word;
    }
    if (length == 0) return;
    /* the 8 bytes that end with the last one: for the reason that body_xor gives */
    word = body_rotate(word, 64 - length * 8);
    memcpy(at + length - sizeof word, &word, sizeof word);
}

/* Writes every byte from `from` on with `word`, over and over. */
static inline void body_fill(const struct wt_message *m, uint32_t from, uint64_t word) {
    if (from == 0 && body_is_one_piece(m)) {
        body_fill_piece(m->segments->data, m->length, word);
        return;
    }
    uint32_t at = 0;
    struct body_walk walk = body_from(m, from, m->length);
    struct wt_segment piece;
    while (body_next(&walk, &piece)) {
        body_fill_piece(piece.data, piece.length, body_rotate(word, (64 - at % 8 * 8) % 64));
        at += piece.length;
    }
}

#endif
