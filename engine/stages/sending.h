// When a client sends, and what is recorded of it: what app_tx has in common for messages and for what a part
// carries in their place.
//
// The functions are static and not inline, so that the compiler weighs them as those of each file.
#pragma once

#include "core/inflight.h"
#include "stages/application.h"
#include "stages/client_state.h"

namespace wt {

// Open loop: whether a message is due. Intended times count from the first call.
static bool is_due(client_sending &s, uint64_t now) {
    if (unlikely(!s.started)) s.next.start = now, s.started = true;
    return arrival_is_due(s.next, now);
}

// Walks `behind`, a copy of the cursor, over what is due, `most` messages at the most, and writes their
// intended times; returns how many. Counts as offered what has fallen due since the last call: these, and
// what is due beyond them.
static uint32_t walk_due(client_sending &s, arrival_cursor &behind, uint64_t now, uint32_t most,
                         const stage_call &call) {
    const uint64_t before = s.unsent;
    const uint32_t count = arrival_walk_due(behind, now, most, s.intended.data());
    if (likely(s.unsent <= count)) {
        s.unsent = count;
        s.due = behind;
    }
    if (unlikely(arrival_is_due(s.due, now))) s.unsent += arrival_pass_due(s.due, now);
    call.stats->offered += s.unsent - before;
    return count;
}

// Goes on behind the first `sent` of the `walked` messages.
static void pass_sent(client_sending &s, const arrival_cursor &behind, uint32_t walked, uint32_t sent,
                      uint64_t now) {
    if (likely(sent == walked))
        s.next = behind;
    else
        arrival_walk_due(s.next, now, sent, s.intended.data());
    s.unsent -= sent;
}

// Records how late each message leaves, relative to its intended time.
static void record_pacing(const client_sending &s, uint32_t count, uint64_t now, const stage_call &call) {
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
static uint32_t free_slots(const application &a) {
    const uint32_t free = a.inflight->free.used(), withheld = a.sending->withheld;
    return free > withheld ? free - withheld : 0;
}

}  // namespace wt
