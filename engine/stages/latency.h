// What a client records of messages that have ended.
#pragma once

#include "core/stage.h"
#include "stages/client_state.h"

namespace wt {

// Messages with the same times, which one histogram entry with a count records. Messages that were sent in
// one burst usually return in one.
struct same_times {
    uint64_t intended = 0, sent = 0;
    uint32_t count = 0;
};

static void record(client_receiving &r, same_times times, uint64_t now, const stage_call &call) {
    // A message that another worker stamped can seem to be sent after its response: `now` is the burst's
    // stamp, and clocks of CPUs may differ.
    if (unlikely(now < times.sent)) call.stats->negative_latency += times.count;
    const uint64_t since_intended = now > times.intended ? now - times.intended : 0;
    const uint64_t since_sent = now > times.sent ? now - times.sent : 0;
    const uint64_t ns = ticks_to_ns(since_intended, r.tick_mult);
    call.stats->latency->intended.add(ns, times.count);
    call.stats->latency->sent.add(ticks_to_ns(since_sent, r.tick_mult), times.count);
    for (uint32_t i = 0; i < times.count && unlikely(r.raw.size() < r.raw_limit); i++) r.raw.push_back(ns);
}

}  // namespace wt
