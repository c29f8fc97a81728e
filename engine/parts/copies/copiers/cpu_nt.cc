// cpu_nt: the worker copies with streaming stores, which leave its cache alone.
//
// They pay where nobody reads the copy soon: a NIC that reads from memory. Who reads it next on this host
// misses.
#include <rte_memcpy.h>

#include <algorithm>
#include <cstring>

#include "parts/copies/copiers/immediate.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace wt {

namespace {

#ifdef __SSE2__

constexpr const char *device = "streaming stores (movntdq)";
constexpr uint32_t line = 64;

// Whole cache lines: a line that is written in part costs more than an ordinary store.
void copy_lines(uint8_t *to, const uint8_t *from, uint32_t lines) {
    for (; lines > 0; lines--, to += line, from += line) {
        const auto *source = reinterpret_cast<const __m128i *>(from);
        auto *target = reinterpret_cast<__m128i *>(to);
        const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1),
                      c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
        _mm_stream_si128(target, a);
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
    }
}

void copy_streaming(const copy_piece &piece) {
    const auto until_line = static_cast<uint32_t>(-reinterpret_cast<uintptr_t>(piece.to) & (line - 1));
    const uint32_t head = std::min(until_line, piece.bytes);
    const uint32_t lines = (piece.bytes - head) / line, done = head + lines * line;
    rte_memcpy(piece.to, piece.from, head);
    copy_lines(piece.to + head, piece.from + head, lines);
    rte_memcpy(piece.to + done, piece.from + done, piece.bytes - done);
}

// Streaming stores are not ordered with others: the fence is for who gets the packets.
void end_streaming() { _mm_sfence(); }

#else

constexpr const char *device = "rte_memcpy: this CPU has no streaming stores that Windtunnel knows";
void copy_streaming(const copy_piece &piece) { rte_memcpy(piece.to, piece.from, piece.bytes); }
void end_streaming() {}

#endif

uint32_t submit(void *state, const copy_piece *pieces, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) copy_streaming(pieces[i]);
    end_streaming();
    immediate_ended(state, count);
    return count;
}

copy_channel open(const copier_end &) { return open_immediate(submit, device); }

}  // namespace

WT_COPIER(cpu_nt) = {.name = "cpu_nt",
                     .help = "the worker copies with streaming stores, past its cache",
                     .most_depth = 8192,
                     .open = open};

}  // namespace wt
