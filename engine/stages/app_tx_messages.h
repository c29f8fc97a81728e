// app_tx of messages: makes requests. Takes an in-flight slot and mbufs, writes header and body, hands the
// packets to a dispatcher.
//
// The functions are static and not inline, so that the compiler weighs them as those of each file: with and
// without a part that looks at what was made.
#pragma once

#include <rte_memcpy.h>

#include "core/packet.h"
#include "stages/app_tx.h"

namespace wt {

// Writes segment `j` of `shape` for each of `count` messages. They differ only in their names.
static void write_segments(const segmentation &shape, uint32_t j, rte_mbuf *const *packet,
                           const uint64_t *names, uint32_t count, const uint8_t *pattern) {
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
static void write_messages(const application &a, uint32_t count, uint64_t now) {
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
static uint32_t write_varied(const application &a, rte_mbuf *const *packet, uint32_t count, uint64_t now) {
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
static void call_handler(application &a, rte_mbuf **packets, uint32_t messages) {
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

// What a part does with a burst of requests that were made, before they leave.
using made_function = void (*)(const application &a, uint32_t count);

// Fills the empty outbox with new messages; returns the number of packets. *wanted: there were some to send.
template <made_function look>
static uint32_t make_messages(application &a, uint64_t now, bool *wanted, const stage_call &call) {
    client_sending &s = *a.sending;
    const uint32_t count = take_wanted(a, now, wanted, call);
    if (count == 0) return 0;
    a.inflight->free.take(s.slots.data(), count);

    uint32_t packets = count * a.request.segments;
    if (likely(!s.sizes))
        write_messages(a, count, now);
    else
        packets = write_varied(a, a.out.packets.data(), count, now);
    if (a.handler != nullptr && a.handler->request != nullptr) call_handler(a, a.out.packets.data(), count);
    if constexpr (look != nullptr) look(a, count);
    if (s.open_loop) record_pacing(s, count, now, call);
    call.stats->sent += count;
    a.out.towards = a.links[take_link(a)];
    return packets;
}

template <made_function look>
static call_result send_messages(void *role, const stage_call &call) {
    application &a = *static_cast<application *>(role);
    uint32_t moved;
    if (unlikely(a.out.count > 0)) {
        moved = outbox_flush(a.out, a.batch_tx);
    } else {
        if (!may_send(a)) return {0};
        bool wanted;
        const uint32_t packets = make_messages<look>(a, stage_now(call), &wanted, call);
        if (packets == 0) return {0, wanted ? for_mbufs : not_stalled};
        moved = outbox_send(a.out, packets, a.batch_tx);
    }
    if (unlikely(moved == 0)) return {0, for_ring};
    return {moved};
}

}  // namespace wt
