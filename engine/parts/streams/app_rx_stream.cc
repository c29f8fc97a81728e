// app_rx of a stream: on a client it ends the writes that the peer has acknowledged, on a server it reads.
#include "core/random_bytes.h"
#include "handlers/applications/body.h"
#include "parts/streams/stream.h"
#include "stages/latency.h"

namespace wt {

namespace {

// A peer that sends to a client is not answered, and not held up either.
void read_away(stream &s) {
    const uint8_t *at;
    const uint64_t bytes = wt_tcp_received(s.connection.get(), &at);
    if (unlikely(bytes > 0)) wt_tcp_consume(s.connection.get(), bytes);
    s.read += bytes;
}

// Whether the oldest one has.
bool write_has_ended(const stream &s, uint64_t acknowledged) {
    return s.writes_head != s.writes_tail &&
           s.writes[s.writes_head & (s.writes.size() - 1)].end <= acknowledged;
}

// Compares with the source up to the end of its parts, where it begins anew.
void check(stream &s, const uint8_t *at, uint32_t bytes) {
    const uint64_t round = s.layout.parts * s.layout.part_bytes;
    for (uint64_t position = s.read; bytes > 0;) {
        const uint64_t begin = stream_source_position(s.layout, position);
        const auto part = static_cast<uint32_t>(std::min<uint64_t>(bytes, round - begin));
        const wrong_bytes wrong = random_bytes_compare(s.layout.seed, begin, at, part);
        if (unlikely(wrong.count > 0 && s.found.wrong_bytes == 0))
            s.found.first_wrong = position + wrong.first;
        s.found.bytes += part;
        s.found.wrong_bytes += wrong.count;
        position += part, at += part, bytes -= part;
    }
}

void look_at(stream &s, const uint8_t *at, uint32_t bytes) {
    if (s.verify) return check(s, at, bytes);
    if (s.scan) s.scanned ^= body_xor(at, bytes);
}

}  // namespace

call_result app_rx_acknowledged(void *role, const stage_call &call) {
    application &a = *static_cast<application *>(role);
    stream &s = stream_of(a);
    client_receiving &r = *a.receiving;
    read_away(s);
    const uint64_t acknowledged = s.committed - wt_tcp_unacknowledged(s.connection.get());
    if (!write_has_ended(s, acknowledged)) return {0};
    const uint64_t now = stage_now(call);
    uint32_t count = 0;
    for (; count < a.batch_rx && write_has_ended(s, acknowledged); s.writes_head++) {
        const stream_write &w = s.writes[s.writes_head & (s.writes.size() - 1)];
        const inflight_slot &slot = a.inflight->slots[w.slot];
        record(r, {slot.intended, slot.sent, 1}, now, call);
        inflight_retire(*a.inflight, w.slot, false);
        r.retired[count++] = w.slot;
    }
    inflight_give_back(*a.inflight, r.retired.data(), count);
    call.stats->responses += count;
    r.responses.store(r.responses.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
    return {count};
}

call_result app_rx_stream(void *role, const stage_call &) {
    stream &s = stream_of(*static_cast<application *>(role));
    const uint8_t *at;
    const auto bytes =
        static_cast<uint32_t>(std::min<uint64_t>(wt_tcp_received(s.connection.get(), &at), s.read_bytes));
    if (bytes == 0) {
        if (unlikely(!s.finished && wt_tcp_state_of(s.connection.get()) == tcp_state::peer_finished)) {
            s.finished = true;
            wt_tcp_finish(s.connection.get());
        }
        return {0};
    }
    look_at(s, at, bytes);
    wt_tcp_consume(s.connection.get(), bytes);
    s.read += bytes;
    return {1};
}

}  // namespace wt
