// When a client sends, and what is recorded of it: what app_tx has in common for messages and for streams.
//
// The functions are static and not inline, so that the compiler weighs them as those of each file.
#pragma once

#include "core/inflight.h"
#include "stages/application.h"
#include "stages/client_state.h"

namespace wt {

static void start_clock(client_sending &s, uint64_t now) {
    s.due.start = s.next.start = now;
    s.started = true;
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
