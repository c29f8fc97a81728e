// app_rx of a client: matches responses with the messages in flight and records their latency.
//
// The functions are static and not inline, so that the compiler weighs them as those of each file: with and
// without a part that looks at the bodies.
#pragma once

#include <span>

#include "core/mbufs.h"
#include "core/packet.h"
#include "stages/application.h"
#include "stages/client_state.h"
#include "stages/latency.h"

namespace wt {

// Takes a packet that is not a complete, expected response of one segment. Returns the slot of the message
// that has its whole response now; null: none has.
__rte_noinline static inflight_slot *take_rare(application &a, const uint8_t *message,
                                               const stage_call &call) {
    const message_header h = message_header_read(message);
    inflight_slot *slot;
    switch (inflight_response(*a.inflight, h, a.response.segments, &slot)) {
        case response_outcome::complete:
            if (slot->arrived != 0) inflight_forget_segments(*a.inflight, h.slot);
            return slot;
        case response_outcome::partial: break;
        case response_outcome::late:
            call.stats->late += h.segment == 0;
            count_drop(call, drop::late_response);
            break;
        case response_outcome::duplicate:
            call.stats->duplicates += h.segment == 0;
            count_drop(call, drop::duplicate_response);
            break;
        case response_outcome::duplicate_segment: count_drop(call, drop::duplicate_segment); break;
        case response_outcome::bad_slot: count_drop(call, drop::bad_slot); break;
        case response_outcome::bad_segment: count_drop(call, drop::bad_segment_count); break;
    }
    return nullptr;
}

// Looks at some slots for messages that have timed out: every few hundred calls, or at every call while no
// responses come.
static void expire(application &a, const stage_call &call) {
    constexpr uint32_t calls_between = 256;
    client_receiving &r = *a.receiving;
    if (likely(r.calls_to_expiry-- != 0)) return;
    r.calls_to_expiry = r.received ? calls_between : 0;
    r.received = false;
    call.stats->lost += inflight_expire(*a.inflight, stage_now(call), r.timeout, inflight_expire_at_once);
}

// What a part does with a burst of responses, before they are matched.
using arrived_function = void (*)(const application &a, rte_mbuf *const *packets, uint32_t count);

template <arrived_function look>
static call_result take_responses(void *role, const stage_call &call) {
    application &a = *static_cast<application *>(role);
    client_receiving &r = *a.receiving;
    expire(a, call);
    uint32_t count = 0;
    for (size_t i = 0; i < a.links.size() && count == 0; i++) {
        count = a.links[r.next_link]->to_application->take(r.packets.data(), a.batch_rx);
        if (++r.next_link == a.links.size()) r.next_link = 0;
    }
    if (count == 0) return {0};
    r.received = true;
    if constexpr (look != nullptr) look(a, r.packets.data(), count);

    const uint64_t now = stage_now(call);
    rte_mbuf **const packets = r.packets.data();
    const std::span slots = a.inflight->slots;
    same_times times;
    uint32_t responses = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i + 4 < count) rte_prefetch0(rte_pktmbuf_mtod(packets[i + 4], void *));
        const uint8_t *message = rte_pktmbuf_mtod_offset(packets[i], const uint8_t *, message_offset);
        const uint64_t name = message_slot_and_generation(message);
        inflight_slot *slot =
            likely(message_is_one_segment(message)) ? inflight_expected(slots, name) : nullptr;
        if (unlikely(slot == nullptr)) {
            slot = take_rare(a, message, call);
            if (slot == nullptr) continue;
        }
        if (unlikely(slot->intended != times.intended || slot->sent != times.sent)) {
            if (times.count > 0) record(r, times, now, call);
            times = {slot->intended, slot->sent, 0};
        }
        times.count++;
        r.retired[responses++] = static_cast<uint32_t>(name >> 32);
        slot_retire(*slot, static_cast<uint32_t>(name), false);
    }
    mbufs_give_back(r.packets.data(), count);
    if (times.count > 0) record(r, times, now, call);
    if (responses > 0) inflight_give_back(*a.inflight, r.retired.data(), responses);
    call.stats->responses += responses;
    r.responses.store(r.responses.load(std::memory_order_relaxed) + responses, std::memory_order_relaxed);
    return {count};
}

}  // namespace wt
