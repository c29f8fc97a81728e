// app_tx of a stream: has writes copied from the source into TCP's send buffer, and commits each piece when
// its copy has ended, in their order.
//
// A piece is a write, or its part up to the end of the buffer. No write begins before there is room for all
// of it. TCP never sees a piece that is not committed; until the last of them is, disp_rx keeps back what
// would empty the send buffer, because an empty one begins anew, and copies run to where it would have gone
// on.
#include "parts/copies/copying.h"
#include "parts/streams/stream.h"
#include "stages/sending.h"

namespace wt {

namespace {

// Whole writes that the send buffer has room for.
uint64_t room_for_writes(const stream &s) {
    const uint64_t kept = s.made - s.committed + wt_tcp_unacknowledged(s.connection.get());
    return (s.send_bytes - kept) / s.write_bytes;
}

// Slots for the writes to make now; returns how many.
uint32_t take_writes(application &a, uint64_t now, uint64_t room, const stage_call &call) {
    client_sending &s = *a.sending;
    const uint32_t at_once = std::min(stream_of(a).writes_at_once, a.batch_tx);
    const auto most = static_cast<uint32_t>(std::min<uint64_t>({at_once, free_slots(a), room}));
    if (!s.open_loop) {
        std::fill_n(s.intended.data(), most, now);
        call.stats->offered += most;
        return most;
    }
    if (!is_due(s, now)) return 0;
    call.stats->inflight_full += most == 0;
    arrival_cursor behind = s.next;
    const uint32_t count = walk_due(s, behind, now, most, call);
    pass_sent(s, behind, count, count, now);
    return count;
}

// Puts off the copies of the next write.
void make_write(application &a, uint32_t slot) {
    stream &s = stream_of(a);
    body_copying &c = copying_of(a);
    uint8_t *const begin = s.send_buffer.get(), *const end = begin + s.send_bytes;
    const uint8_t *from = source_of(a).bytes + stream_source_position(s.layout, s.made);
    if (c.pending.count() == 0) s.write_at = wt_tcp_send_at(s.connection.get());
    for (uint32_t left = s.write_bytes, piece; left > 0; left -= piece, from += piece) {
        piece = static_cast<uint32_t>(std::min<uint64_t>(left, static_cast<uint64_t>(end - s.write_at)));
        add_copy(c, nullptr, s.write_at, from, piece, 0);
        s.write_at += piece;
        if (s.write_at == end) s.write_at = begin;
    }
    s.made += s.write_bytes;
    s.writes[s.writes_tail++ & (s.writes.size() - 1)] = {s.made, slot};
}

uint32_t make_writes(application &a, uint64_t now, const stage_call &call) {
    client_sending &s = *a.sending;
    const uint64_t room = room_for_writes(stream_of(a));
    const uint32_t count = take_writes(a, now, room, call);
    if (count == 0) return 0;
    a.inflight->free.take(s.slots.data(), count);
    for (uint32_t i = 0; i < count; i++) {
        slot_arm(a.inflight->slots[s.slots[i]], s.intended[i], now);
        make_write(a, s.slots[i]);
    }
    if (s.open_loop) record_pacing(s, count, now, call);
    call.stats->sent += count;
    return count;
}

// The connection is of no more use. Where its copier was given up, copies may still write to the send buffer:
// nothing more is written there, or sent from there.
void abandon(stream &s) {
    wt_tcp_abort(s.connection.get());
    stream_publish_state(s);
}

call_result write(application &a, bool sending, const stage_call &call) {
    body_copying &c = copying_of(a);
    const bool makes = sending && wants_packets(c);
    if (!makes && c.pending.count() == 0) return {0};
    const copying_call begun = begin_copying(a, a.batch_tx, call);
    if (unlikely(c.gave_up)) abandon(stream_of(a));
    if (unlikely(wt_tcp_state_of(stream_of(a).connection.get()) == tcp_state::reset)) return {begun.moved};
    const bool made = makes && make_writes(a, begun.now, call) > 0;
    if (!made && c.pending.count() == 0 && begun.moved == 0) return {0};
    const call_result result = end_copying(a, begun, a.batch_tx, made, false, call);
    call.stats->unmoved_calls += result.worked && result.objects == 0;
    return result;
}

}  // namespace

uint32_t stream_commit(application &a, uint32_t most) {
    stream &s = stream_of(a);
    pending_packets &p = copying_of(a).pending;
    for (; p.head != p.ended; p.head++) {
        const pending_copy &piece = p.copy(p.head);
        if (likely(wt_tcp_commit(s.connection.get(), piece.to, piece.bytes)))
            s.committed += piece.bytes;
        else
            abandon(s);
    }
    uint32_t writes = 0;
    for (; writes < most && s.writes_done != s.writes_tail; writes++, s.writes_done++)
        if (s.writes[s.writes_done & (s.writes.size() - 1)].end > s.committed) break;
    return writes;
}

call_result app_tx_stream(void *role, const stage_call &call) {
    application &a = *static_cast<application *>(role);
    stream &s = stream_of(a);
    const bool sending = s.signals->sending.load(std::memory_order_acquire);
    const tcp_state state = wt_tcp_state_of(s.connection.get());
    if (unlikely(state == tcp_state::idle && sending)) {
        wt_tcp_connect(s.connection.get());
        stream_publish_state(s);
    }
    if (unlikely(state != tcp_state::open && state != tcp_state::peer_finished)) return {0};
    if (unlikely(copying_of(a).gave_up)) return abandon(s), call_result{0};
    const call_result result = write(a, sending, call);
    if (unlikely(!sending && copying_of(a).pending.count() == 0)) {
        wt_tcp_finish(s.connection.get());
        stream_publish_state(s);
    }
    return result;
}

}  // namespace wt
