// app_rx of a server: assembles requests, calls the message handler, sends the responses.
//
// A request is "ready" when it is complete and waits for the mbufs of its response. While one waits, nothing
// is dequeued: a lack of mbufs or of room in the ring pushes back to the port instead of filling a queue
// here. Where request and response are one segment in one mbuf, app_rx_in_place.cc does all of this.
#include "stages/app_rx_messages.h"
#include "stages/stages.h"

namespace wt {

namespace {

// Responds to as many ready requests as there are mbufs for. False: there are none.
bool respond_to_ready(application &a, const stage_call &call) {
    server_responding &s = *a.responding;
    const uint32_t count = take_mbufs(a);
    if (unlikely(count == 0)) return false;
    build_views(a, count);
    run_handler(a, count);
    rte_mbuf **packets = a.out.packets.data();
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++)
        used += finish_response(a, i, packets + size_t{i} * a.response.segments, packets + used, call);
    s.ready_head += count;
    outbox_send(a.out, used, UINT32_MAX);
    return true;
}

}  // namespace

call_result app_rx_requests(void *role, const stage_call &call) {
    application &a = *static_cast<application *>(role);
    server_responding &s = *a.responding;
    uint32_t taken = 0;
    bool moved = false;
    if (a.out.count > 0) {
        moved = outbox_flush(a.out, UINT32_MAX) > 0;
        if (a.out.count > 0) return moved ? went_on(call) : call_result{0, for_ring};
    }
    if (s.in_place) {
        const call_result r = respond_in_place(a, call);
        return unlikely(moved && r.objects == 0) ? went_on(call) : r;
    }
    if (s.ready_head == s.ready.size()) taken = take_requests(a, call);
    while (s.ready_head < s.ready.size()) {
        if (!respond_to_ready(a, call)) break;
        moved = true;
        if (a.out.count > 0) break;
    }
    if (likely(taken > 0)) return {taken};
    if (moved) return went_on(call);
    return {0, s.ready_head < s.ready.size() ? for_mbufs : not_stalled};
}

}  // namespace wt
