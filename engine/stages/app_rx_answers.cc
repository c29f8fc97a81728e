// app_rx of a client: matches answers with the messages in flight and records their latency.
#include <span>

#include "stages/roles.h"

namespace wt {

namespace {

// Latencies on their way into the histograms. Messages that left in one burst come back in one: their times are alike,
// and one entry with a count serves them all.
struct alike {
    uint64_t intended = 0, sent = 0;
    uint32_t count = 0;
};

void record(client_receiving &r, alike times, uint64_t now, const stage_call &call) {
    // The stamp is the burst's: an answer can seem to come before a message that was stamped later on another worker.
    const uint64_t since_intended = now > times.intended ? now - times.intended : 0;
    const uint64_t since_sent = now > times.sent ? now - times.sent : 0;
    const uint64_t ns = ticks_to_ns(since_intended, r.tick_mult);
    call.stats->latency->intended.add(ns, times.count);
    call.stats->latency->sent.add(ticks_to_ns(since_sent, r.tick_mult), times.count);
    for (uint32_t i = 0; i < times.count && unlikely(r.raw.size() < r.raw_limit); i++) r.raw.push_back(ns);
}

// The burst so far.
struct tally {
    alike times;
    uint32_t answered = 0;
};

void complete(application &a, inflight_slot &slot, tally &t, uint64_t now, const stage_call &call) {
    client_receiving &r = *a.receiving;
    if (slot.intended != t.times.intended || slot.sent != t.times.sent) {
        if (t.times.count > 0) record(r, t.times, now, call);
        t.times = {slot.intended, slot.sent, 0};
    }
    t.times.count++;
    const auto index = static_cast<uint32_t>(&slot - a.inflight->slots.data());
    inflight_retire(*a.inflight, index, false);
    r.retired[t.answered++] = index;
}

// Takes what is not the whole of an answer that is waited for. Returns the slot of a message that it completes, else null.
inflight_slot *take_rare(application &a, const uint8_t *message, const stage_call &call) {
    const message_header h = message_header_read(message);
    inflight_slot *slot;
    switch (inflight_answer(*a.inflight, h, a.answer.segments, &slot)) {
        case answer_outcome::complete: return slot;
        case answer_outcome::partial: break;
        case answer_outcome::late:
            call.stats->late += h.segment == 0;
            count_drop(call, drop::late_answer);
            break;
        case answer_outcome::duplicate:
            call.stats->duplicates += h.segment == 0;
            count_drop(call, drop::duplicate_answer);
            break;
        case answer_outcome::duplicate_segment: count_drop(call, drop::duplicate_segment); break;
        case answer_outcome::bad_slot: count_drop(call, drop::bad_slot); break;
        case answer_outcome::bad_segment: count_drop(call, drop::bad_segment_count); break;
    }
    return nullptr;
}

// Now and then, looks at some slots for messages whose answer will not come; at every call where none has come for long.
void expire(application &a, const stage_call &call) {
    constexpr uint32_t calls_between = 256;
    client_receiving &r = *a.receiving;
    if (likely(r.calls_to_expiry-- != 0)) return;
    r.calls_to_expiry = r.heard ? calls_between : 0;
    r.heard = false;
    call.stats->lost += inflight_expire(*a.inflight, stage_now(call), r.timeout, inflight_expire_at_once);
}

}  // namespace

call_result app_rx_answers(void *role, const stage_call &call) {
    application &a = *static_cast<application *>(role);
    client_receiving &r = *a.receiving;
    expire(a, call);
    uint32_t count = 0;
    for (size_t i = 0; i < a.links.size() && count == 0; i++) {
        count = a.links[r.next_link]->to_application->take(r.packets.data(), a.batch_rx);
        if (++r.next_link == a.links.size()) r.next_link = 0;
    }
    if (count == 0) return {0, false};
    r.heard = true;

    const uint64_t now = stage_now(call);
    rte_mbuf **const packets = r.packets.data();
    const std::span slots = a.inflight->slots;
    tally t;
    for (uint32_t i = 0; i < count; i++) {
        if (i + 4 < count) rte_prefetch0(rte_pktmbuf_mtod(packets[i + 4], void *));
        const uint8_t *message = rte_pktmbuf_mtod_offset(packets[i], const uint8_t *, message_offset);
        inflight_slot *slot = message_is_one_segment(message) ? inflight_expected(slots, message_slot_and_generation(message)) : nullptr;
        if (unlikely(slot == nullptr)) slot = take_rare(a, message, call);
        if (likely(slot != nullptr)) complete(a, *slot, t, now, call);
    }
    rte_pktmbuf_free_bulk(r.packets.data(), count);
    if (t.times.count > 0) record(r, t.times, now, call);
    if (t.answered > 0) inflight_give_back(*a.inflight, r.retired.data(), t.answered);
    call.stats->answered += t.answered;
    r.answered.store(r.answered.load(std::memory_order_relaxed) + t.answered, std::memory_order_relaxed);
    return {count, false};
}

}  // namespace wt
