#include "core/inflight.h"

#include <algorithm>
#include <bit>

namespace wt {

inflight_table::inflight_table(const std::string &name, uint32_t slot_count, uint32_t response_segments,
                               uint32_t first)
    : slots(slot_count),
      free(name, std::bit_ceil(slot_count + 1)),
      seen_words(response_segments > 1 ? (response_segments + 63) / 64 : 0),
      first_generation(first) {
    for (inflight_slot &slot : slots) slot.generation = first;
    seen.resize(size_t{slot_count} * seen_words);
    for (uint32_t i = 0; i < slot_count; i++) free.put(&i, 1);
}

// A response to another generation: was its message lost, has it had a response already, or was none sent?
static response_outcome outcome_of_other(const inflight_table &t, const inflight_slot &slot, uint32_t now,
                                         uint32_t then) {
    if (now - then > now - t.first_generation) return response_outcome::bad_slot;
    const uint32_t retired_since = (now - then - 1) / 2;
    if (retired_since >= 32) return response_outcome::late;
    return (slot.lost_history >> retired_since) & 1 ? response_outcome::late : response_outcome::duplicate;
}

response_outcome inflight_response(inflight_table &t, const message_header &h, uint32_t response_segments,
                                   inflight_slot **out) {
    if (h.slot >= t.slots.size() || (h.generation & 1) == 0) return response_outcome::bad_slot;
    inflight_slot &slot = t.slots[h.slot];
    const uint32_t generation = slot.generation.load(std::memory_order_acquire);
    if (h.generation != generation) return outcome_of_other(t, slot, generation, h.generation);
    *out = &slot;
    if (h.segments > response_segments || h.segment >= h.segments) return response_outcome::bad_segment;
    if (h.segments == 1 && slot.arrived == 0) return response_outcome::complete;
    if (slot.arrived == 0) slot.segments = h.segments;
    if (h.segments != slot.segments) return response_outcome::bad_segment;
    uint64_t &word = t.seen[size_t{h.slot} * t.seen_words + h.segment / 64];
    const uint64_t bit = uint64_t{1} << (h.segment % 64);
    if (word & bit) return response_outcome::duplicate_segment;
    word |= bit;
    return ++slot.arrived == slot.segments ? response_outcome::complete : response_outcome::partial;
}

void inflight_forget_segments(inflight_table &t, uint32_t slot) {
    t.slots[slot].arrived = 0;
    std::fill_n(t.seen.begin() + size_t{slot} * t.seen_words, t.seen_words, 0);
}

uint32_t inflight_expire(inflight_table &t, uint64_t now, uint64_t timeout, uint32_t look_at) {
    const auto count = static_cast<uint32_t>(t.slots.size());
    const uint32_t to = std::min(t.expiry_hand + std::min(look_at, inflight_expire_at_once), count);
    inflight_slot *const slots = t.slots.data();
    uint32_t retired[inflight_expire_at_once], expired = 0, hand = t.expiry_hand;
    for (; hand < to; hand++) {
        inflight_slot &slot = slots[hand];
        if ((slot.generation.load(std::memory_order_acquire) & 1) == 0) continue;
        // Signed: app_tx on another worker may have stamped the slot after our `now`.
        if (static_cast<int64_t>(now - slot.sent) > static_cast<int64_t>(timeout)) {
            inflight_retire(t, hand, true);
            retired[expired++] = hand;
        } else if (expired > 0) {
            break;
        }
    }
    t.expiry_hand = hand == count ? 0 : hand;
    if (expired > 0) inflight_give_back(t, retired, expired);
    return expired;
}

uint32_t inflight_count(const inflight_table &t) {
    return static_cast<uint32_t>(std::count_if(t.slots.begin(), t.slots.end(), [](const inflight_slot &s) {
        return s.generation.load(std::memory_order_acquire) & 1;
    }));
}

}  // namespace wt
