// app_tx: makes requests. Takes an in-flight slot and mbufs, writes header and body, hands the packets to a
// dispatcher.
#include <rte_memcpy.h>

#include "core/mbufs.h"
#include "core/packet.h"
#include "stages/application.h"
#include "stages/client_state.h"
#include "stages/stages.h"

namespace wt {

namespace {

void start_clock(client_sending &s, uint64_t now) {
    s.due.start = s.next.start = now;
    s.started = true;
}

// Writes segment `j` of `shape` for each of `count` messages. They differ only in their names.
void write_segments(const segmentation &shape, uint32_t j, rte_mbuf *const *packet, const uint64_t *names,
                    uint32_t count, const uint8_t *pattern) {
    const uint32_t payload = message_header_bytes + segment_body_bytes(shape, j), stride = shape.segments;
    for (uint32_t i = 0; i < count; i++, packet += stride) {
        rte_mbuf *const m = *packet;
        uint8_t *const message = message_of(m);
        rte_memcpy(message, pattern, payload);
        message_header_rename(message, names[i]);
        set_length(m, message_offset + payload);
    }
}

// Writes the packets of `count` messages in the outbox: the body, and the header by which the response finds
// its slot.
void write_messages(const application &a, uint32_t count, uint64_t now) {
    client_sending &s = *a.sending;
    inflight_slot *const slots = a.inflight->slots.data();
    const uint64_t *const intended = s.intended.data();
    const uint32_t *const taken = s.slots.data();
    uint64_t *const names = s.names.data();
    for (uint32_t i = 0; i < count; i++)
        names[i] = message_name(taken[i], slot_arm(slots[taken[i]], intended[i], now));
    for (uint32_t j = 0; j < a.request.segments; j++) {
        message_header_write(s.pattern.data(),
                             {message_kind::request, a.workload, a.index, 0, 0, static_cast<uint16_t>(j),
                              static_cast<uint16_t>(a.request.segments)});
        write_segments(a.request, j, a.out.packets.data() + j, names, count, s.pattern.data());
    }
}

// The same for messages of different sizes, one after the other. Returns the number of packets.
uint32_t write_varied(const application &a, rte_mbuf *const *packet, uint32_t count, uint64_t now) {
    const client_sending &s = *a.sending;
    rte_mbuf *const *const first = packet;
    for (uint32_t i = 0; i < count; i++) {
        const segmentation &shape = s.shapes[i];
        const uint32_t generation = slot_arm(a.inflight->slots[s.slots[i]], s.intended[i], now);
        for (uint32_t j = 0; j < shape.segments; j++, packet++) {
            const uint32_t body = segment_body_bytes(shape, j);
            uint8_t *frame = frame_of(*packet);
            message_header_write(frame + message_offset,
                                 {message_kind::request, a.workload, a.index, s.slots[i], generation,
                                  static_cast<uint16_t>(j), static_cast<uint16_t>(shape.segments)});
            rte_memcpy(frame + body_offset, s.pattern.data() + message_header_bytes, body);
            set_length(*packet, body_offset + body);
        }
    }
    return static_cast<uint32_t>(packet - first);
}

// Lets the handler write the bodies.
void call_handler(application &a, rte_mbuf **packets, uint32_t messages) {
    client_sending &s = *a.sending;
    wt_segment *segments = s.segments.data();
    for (uint32_t i = 0; i < messages; i++) {
        const segmentation &shape = s.sizes ? s.shapes[i] : a.request;
        s.views[i] = {segments, shape.segments, shape.body_bytes};
        for (uint32_t j = 0; j < shape.segments; j++, packets++)
            *segments++ = {rte_pktmbuf_mtod_offset(*packets, uint8_t *, body_offset),
                           segment_body_bytes(shape, j)};
    }
    a.handler->request(a.handler_state, s.views.data(), messages);
}

// Draws the sizes of up to `messages` messages, as many as the outbox has room for. The cursor advances only
// past messages that get their mbufs.
uint32_t take_varied_mbufs(application &a, uint32_t messages) {
    client_sending &s = *a.sending;
    const uint32_t room = packets_at_once(a);
    size_cursor ahead = *s.sizes, fitting = ahead, after_first = ahead;
    uint32_t packets = 0, count = 0;
    for (; count < messages; count++, fitting = ahead) {
        s.shapes[count] = segmentation_into(size_next(ahead) - message_header_bytes, a.request.segment_body);
        if (count == 0) after_first = ahead;
        if (packets + s.shapes[count].segments > room) break;
        packets += s.shapes[count].segments;
    }
    if (likely(mbufs_take(a.pool, a.out.packets.data(), packets))) return s.sizes = fitting, count;
    if (count == 1 || !mbufs_take(a.pool, a.out.packets.data(), s.shapes[0].segments)) return 0;
    return s.sizes = after_first, 1;
}

// Takes mbufs for `messages` messages, or for one if the pool runs short. Returns for how many.
uint32_t take_mbufs(application &a, uint32_t messages) {
    if (unlikely(a.sending->sizes.has_value())) return take_varied_mbufs(a, messages);
    if (likely(mbufs_take(a.pool, a.out.packets.data(), messages * a.request.segments))) return messages;
    return messages > 1 && mbufs_take(a.pool, a.out.packets.data(), a.request.segments) ? 1 : 0;
}

// Closed loop: as many messages as the in-flight budget allows.
uint32_t take_closed(application &a, uint64_t now, uint32_t most, const stage_call &call) {
    const uint32_t count = take_mbufs(a, most);
    std::fill_n(a.sending->intended.data(), count, now);
    call.stats->offered += count;
    return count;
}

// Open loop: the messages that are due. The cursor cannot go back, so it advances only once there are mbufs.
uint32_t take_open(application &a, uint64_t now, uint32_t most) {
    client_sending &s = *a.sending;
    arrival_cursor ahead = s.next;
    const uint32_t due = arrival_walk_due(ahead, now, most, s.intended.data());
    if (due == 0) return 0;
    const uint32_t count = take_mbufs(a, due);
    if (likely(count == due))
        s.next = ahead;
    else
        arrival_walk_due(s.next, now, count, s.intended.data());
    return count;
}

// Records how late each message leaves, relative to its intended time.
void record_pacing(const client_sending &s, uint32_t count, uint64_t now, const stage_call &call) {
    latency_histogram &pacing = *call.stats->pacing;
    const uint64_t *const intended = s.intended.data();
    const auto bucket = [&](uint64_t ns) { return pacing.bucket_of(std::min(ns, pacing.largest)); };
    // intended times ascend
    const uint64_t least = ticks_to_ns(now - intended[count - 1], s.tick_mult),
                   most = ticks_to_ns(now - intended[0], s.tick_mult);
    uint64_t ticks = 0;
    for (uint32_t i = 0; i < count; i++) ticks += now - intended[i];
    pacing.add_extent(count, ticks_to_ns(ticks, s.tick_mult), least, most);
    // A sender that is far behind sends all messages of a burst equally late, to within a bucket.
    if (bucket(least) == bucket(most)) return static_cast<void>(pacing.counts[bucket(least)] += count);
    for (uint32_t i = 0; i < count; i++) pacing.counts[bucket(ticks_to_ns(now - intended[i], s.tick_mult))]++;
}

// Slots for new messages.
uint32_t free_slots(const application &a) {
    const uint32_t free = a.inflight->free.used(), withheld = a.sending->withheld;
    return free > withheld ? free - withheld : 0;
}

// Takes mbufs for the messages to send now; returns how many. *wanted: there were some to send.
uint32_t take_wanted(application &a, uint64_t now, bool *wanted, const stage_call &call) {
    client_sending &s = *a.sending;
    const uint32_t budget = std::min(s.at_once, free_slots(a));
    *wanted = budget > 0;
    if (!s.open_loop) return *wanted ? take_closed(a, now, budget, call) : 0;
    if (unlikely(!s.started)) start_clock(s, now);
    call.stats->offered += arrival_pass_due(s.due, now);
    const bool due = arrival_is_due(s.next, now);
    call.stats->inflight_full += due && !*wanted;
    *wanted = *wanted && due;
    return *wanted ? take_open(a, now, budget) : 0;
}

// Fills the empty outbox with new messages. False: there are some to send, but no mbufs.
bool make_messages(application &a, uint64_t now, const stage_call &call) {
    client_sending &s = *a.sending;
    bool wanted;
    const uint32_t count = take_wanted(a, now, &wanted, call);
    if (count == 0) return !wanted;
    a.inflight->free.take(s.slots.data(), count);

    a.out.count = count * a.request.segments;
    if (likely(!s.sizes))
        write_messages(a, count, now);
    else
        a.out.count = write_varied(a, a.out.packets.data(), count, now);
    if (a.handler != nullptr && a.handler->request != nullptr) call_handler(a, a.out.packets.data(), count);
    if (s.open_loop) record_pacing(s, count, now, call);
    call.stats->sent += count;
    a.out.head = 0;
    a.out.towards = a.links[a.next_link];
    if (++a.next_link == a.links.size()) a.next_link = 0;
    return true;
}

}  // namespace

call_result app_tx(void *role, const stage_call &call) {
    application &a = *static_cast<application *>(role);
    if (a.out.count == 0) {
        if (!a.sending->signals->sending.load(std::memory_order_acquire)) return {0};
        if (!a.sending->open_loop && free_slots(a) == 0) return {0};
        const bool mbufs_short = !make_messages(a, stage_now(call), call);
        if (a.out.count == 0) return {0, mbufs_short ? for_mbufs : not_stalled};
    }
    const uint32_t moved = outbox_flush(a.out, a.batch_tx);
    if (unlikely(moved == 0)) return {0, for_ring};
    return {moved};
}

}  // namespace wt
