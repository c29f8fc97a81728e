// A client application's table of messages in flight: one slot a message, its timestamps kept here and never
// sent.
//
// app_tx takes a free slot and makes its generation odd (in flight); app_rx, on the response or the timeout,
// makes it even again and gives the slot back. At any time one of the two owns a slot, so they may run on
// different workers.
//
// Where strangers can send to a client, the generations of its table begin at a number that nobody knows:
// what they send is the response to a message that was never sent.
#pragma once

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/message.h"
#include "core/ring.h"

namespace wt {

// Aligned, so that none lies across two cache lines: malloc would begin 16 bytes into one.
struct alignas(32) inflight_slot {
    std::atomic<uint32_t> generation{0};  // odd: in flight
    uint32_t lost_history = 0;            // bit k: the message k retirements ago was lost
    uint16_t arrived = 0;                 // segments of the response so far
    uint16_t segments = 0;                // of the response, as its first segment said
    uint64_t intended = 0, sent = 0;      // TSC
};
static_assert(sizeof(inflight_slot) == 32);

struct inflight_table {
    std::vector<inflight_slot> slots;
    spsc_ring<uint32_t> free;
    // a bit a segment of the response, seen_words words a slot; none where responses have one segment
    std::vector<uint64_t> seen;
    uint32_t seen_words;
    uint32_t first_generation;  // of every slot, even
    // next slot to be looked at for its timeout: app_rx's, while app_tx reads what stands above
    alignas(RTE_CACHE_LINE_SIZE) uint32_t expiry_hand = 0;

    inflight_table(const std::string &name, uint32_t slots, uint32_t response_segments,
                   uint32_t first_generation);
};

enum class response_outcome : uint8_t {
    partial,
    complete,
    late,
    duplicate,
    duplicate_segment,
    bad_slot,
    bad_segment
};

// Marks a slot as in flight; returns its generation.
inline uint32_t slot_arm(inflight_slot &slot, uint64_t intended, uint64_t now) {
    const uint32_t generation = slot.generation.load(std::memory_order_relaxed) + 1;
    slot.intended = intended;
    slot.sent = now;
    slot.generation.store(generation, std::memory_order_release);
    return generation;
}

// The slot that waits for a response of one segment with this slot (high half) and generation in its header;
// null: none does, or segments of this response have come before.
inline inflight_slot *inflight_expected(std::span<inflight_slot> slots, uint64_t slot_and_generation) {
    const uint64_t index = slot_and_generation >> 32;
    const auto generation = static_cast<uint32_t>(slot_and_generation);
    if (unlikely(index >= slots.size() || (generation & 1) == 0)) return nullptr;
    inflight_slot &slot = slots[index];
    const bool waits = slot.generation.load(std::memory_order_acquire) == generation && slot.arrived == 0;
    return likely(waits) ? &slot : nullptr;
}

// Takes one segment of a response. `complete`: the message got its response and *slot holds its times until
// inflight_retire().
response_outcome inflight_response(inflight_table &t, const message_header &h, uint32_t response_segments,
                                   inflight_slot **slot);

// Ends the message that is in flight in a slot, of which no segment is kept.
inline void slot_retire(inflight_slot &slot, uint32_t generation, bool lost) {
    slot.lost_history = slot.lost_history << 1 | (lost ? 1 : 0);
    slot.generation.store(generation + 1, std::memory_order_release);
}

// Ends a message, with a response or lost; the caller gives its slot back with inflight_give_back().
void inflight_forget_segments(inflight_table &t, uint32_t index);
inline void inflight_retire(inflight_table &t, uint32_t index, bool lost) {
    inflight_slot &slot = t.slots[index];
    if (unlikely(slot.arrived)) inflight_forget_segments(t, index);
    slot_retire(slot, slot.generation.load(std::memory_order_relaxed), lost);
}

// Gives retired slots back to app_tx, a burst at once.
inline void inflight_give_back(inflight_table &t, const uint32_t *slots, uint32_t count) {
    t.free.put(slots, count);
}

// Looks at up to `look_at` slots (no more than the constant) and gives back those that were sent more than
// `timeout` ticks before `now`; returns how many. Behind some that were, it stops at the first that is still
// young and begins there the next time: without responses, slots come round in the order in which they
// were sent, and a longer search would find none.
constexpr uint32_t inflight_expire_at_once = 64;
uint32_t inflight_expire(inflight_table &t, uint64_t now, uint64_t timeout, uint32_t look_at);

// Messages in flight: exact once both stages have stopped.
uint32_t inflight_count(const inflight_table &t);

}  // namespace wt
