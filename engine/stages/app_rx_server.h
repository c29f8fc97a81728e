// What the ways through app_rx of a server share: app_rx_requests.cc, for a request and a response of one
// segment in one mbuf app_rx_in_place.cc, and those of parts.
#pragma once

#include <rte_pause.h>

#include "core/packet.h"
#include "stages/application.h"
#include "stages/server_state.h"

namespace wt {

inline uint32_t body_bytes(const rte_mbuf *m) { return m->pkt_len - body_offset; }

inline void prefetch_message(rte_mbuf *m) { rte_prefetch0(message_of(m)); }

// The allowed body bytes of a request of one segment: `least`, and up to `more` beyond.
struct body_range {
    uint32_t least, more;
};

inline body_range single_segment_range(const application &a) {
    const uint32_t largest = a.request.body_bytes;
    return a.responding->requests_vary ? body_range{0, largest} : body_range{largest, 0};
}

// Whether a packet is a complete request of one segment.
inline bool is_single_segment(const rte_mbuf *m, const uint8_t *message, const body_range &allowed) {
    return likely(message_is_one_segment(message) && body_bytes(m) - allowed.least <= allowed.more);
}

// Why a packet is not one.
inline drop single_segment_fault(const uint8_t *message) {
    const message_header h = message_header_read(message);
    if (h.segments != 1) return drop::bad_segment_count;
    return h.segment != 0 ? drop::bad_segment_index : drop::bad_segment_length;
}

// Takes a burst from one link, and checks its bodies where it is to. The responses return on the same link.
inline uint32_t take_burst(application &a) {
    server_responding &s = *a.responding;
    uint32_t count = 0;
    for (size_t i = 0; i < a.links.size() && count == 0; i++) {
        a.out.towards = a.links[a.next_link];
        count = a.out.towards->to_application->take(s.packets.data(), a.batch_rx);
        if (++a.next_link == a.links.size()) a.next_link = 0;
    }
    if (unlikely(a.check_requests != nullptr)) a.check_requests(a, s.packets.data(), count);
    return count;
}

// Calls the handler, then waits for the scenario's extra ticks.
inline void run_handler(application &a, uint32_t count) {
    a.handler->message(a.handler_state, a.responding->exchanges.data(), count);
    if (likely(a.responding->extra_ticks == 0)) return;
    const uint64_t until = now() + a.responding->extra_ticks * count;
    while (static_cast<int64_t>(until - now()) > 0) rte_pause();
}

// app_rx_in_place.cc
call_result respond_in_place(application &a, const stage_call &call);

}  // namespace wt
