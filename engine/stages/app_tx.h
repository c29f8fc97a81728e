// What app_tx has in common wherever the bodies come from: which messages to send now, and their mbufs.
//
// The functions are static and not inline, so that the compiler weighs them as those of each file.
#pragma once

#include "core/mbufs.h"
#include "stages/sending.h"

namespace wt {

// Draws the sizes of up to `messages` messages, as many as the outbox has room for. The cursor advances only
// past messages that get their mbufs.
static uint32_t take_varied_mbufs(application &a, uint32_t messages) {
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
static uint32_t take_mbufs(application &a, uint32_t messages) {
    if (unlikely(a.sending->sizes.has_value())) return take_varied_mbufs(a, messages);
    if (likely(mbufs_take(a.pool, a.out.packets.data(), messages * a.request.segments))) return messages;
    return messages > 1 && mbufs_take(a.pool, a.out.packets.data(), a.request.segments) ? 1 : 0;
}

// Closed loop: as many messages as the in-flight budget allows.
static uint32_t take_closed(application &a, uint64_t now, uint32_t most, const stage_call &call) {
    const uint32_t count = take_mbufs(a, most);
    std::fill_n(a.sending->intended.data(), count, now);
    call.stats->offered += count;
    return count;
}

// Open loop: the messages that are due. The cursor cannot go back, so it advances only once there are mbufs.
static uint32_t take_open(application &a, uint64_t now, uint32_t most, const stage_call &call) {
    client_sending &s = *a.sending;
    arrival_cursor behind = s.next;
    const uint32_t due = walk_due(s, behind, now, most, call);
    const uint32_t count = due > 0 ? take_mbufs(a, due) : 0;
    pass_sent(s, behind, due, count, now);
    return count;
}

// Takes mbufs for the messages to send now; returns how many. *wanted: there were some to send.
static uint32_t take_wanted(application &a, uint64_t now, bool *wanted, const stage_call &call) {
    client_sending &s = *a.sending;
    const uint32_t budget = std::min(s.at_once, free_slots(a));
    *wanted = budget > 0;
    if (!s.open_loop) return *wanted ? take_closed(a, now, budget, call) : 0;
    if (!is_due(s, now)) return *wanted = false, 0;
    call.stats->inflight_full += budget == 0;
    return take_open(a, now, budget, call);
}

// Whether app_tx may make messages: clients send, and a slot is free or somebody has to count that none is.
static bool may_send(const application &a) {
    if (!a.sending->signals->sending.load(std::memory_order_acquire)) return false;
    return a.sending->open_loop || free_slots(a) > 0;
}

// The next messages go to the next dispatcher.
static uint16_t take_link(application &a) {
    const uint32_t link = a.next_link;
    if (++a.next_link == a.links.size()) a.next_link = 0;
    return static_cast<uint16_t>(link);
}

}  // namespace wt
