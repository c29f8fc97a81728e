// app_rx of a server whose handler names copies of its responses: a copier makes them, and each packet leaves
// when its copies have ended, in their order. Nothing is dequeued while responses wait for mbufs or for room.
#include <algorithm>

#include "parts/copies/copying.h"
#include "stages/app_rx_messages.h"

namespace wt {

namespace {

// Gives the handler room to name copies.
void ask_for_copies(application &a, uint32_t count) {
    line_vector<wt_copies> &named = bodies_of(a).named;
    for (uint32_t i = 0; i < count; i++) {
        named[i].count = 0;
        a.responding->exchanges[i].copies = &named[i];
    }
}

// Puts off the copies that go into one packet, whose part of the body begins at `begin`.
void add_packet(body_copying &c, rte_mbuf *m, uint32_t begin, const wt_copies &named, uint16_t link) {
    uint8_t *const body = rte_pktmbuf_mtod_offset(m, uint8_t *, body_offset);
    const uint64_t end = uint64_t{begin} + body_bytes(m);
    copy_piece last{};
    for (uint32_t i = 0; i < std::min(named.count, WT_MAX_COPIES); i++) {
        const wt_copy &copy = named.list[i];
        const uint64_t from = std::max(begin, copy.position),
                       to = std::min(end, uint64_t{copy.position} + copy.length);
        if (from >= to) continue;
        if (last.bytes) add_copy(c, nullptr, last.to, last.from, last.bytes, link);
        last = {body + (from - begin), copy.from + (from - copy.position), static_cast<uint32_t>(to - from)};
    }
    if (last.bytes) return add_copy(c, m, last.to, last.from, last.bytes, link);
    add_ready(c, m, link);
}

// Of the link from which the requests came.
uint16_t link_of(const application &a) {
    return static_cast<uint16_t>(std::ranges::find(a.links, a.out.towards) - a.links.begin());
}

// Makes the responses to as many ready requests as there are mbufs for. False: there are none.
bool respond_to_ready(application &a, const stage_call &call) {
    server_responding &s = *a.responding;
    body_copying &c = copying_of(a);
    const uint32_t count = take_mbufs(a);
    if (unlikely(count == 0)) return false;
    build_views(a, count);
    ask_for_copies(a, count);
    run_handler(a, count);
    const uint16_t link = link_of(a);
    for (uint32_t i = 0; i < count; i++) {
        rte_mbuf **const packets = a.out.packets.data() + size_t{i} * a.response.segments;
        const uint32_t segments = finish_response(a, i, packets, packets, call);
        for (uint32_t j = 0; j < segments; j++)
            add_packet(c, packets[j], j * a.response.segment_body, bodies_of(a).named[i], link);
    }
    s.ready_head += count;
    return true;
}

}  // namespace

call_result app_rx_copying(void *role, const stage_call &call) {
    application &a = *static_cast<application *>(role);
    server_responding &s = *a.responding;
    const copying_call begun = begin_copying(a, a.batch_rx, call);
    const bool may_take = s.ready_head == s.ready.size() && wants_packets(copying_of(a));
    const uint32_t taken = may_take ? take_requests(a, call) : 0;
    const uint32_t first = s.ready_head;
    bool lacks = false;
    while (!lacks && s.ready_head < s.ready.size() && wants_packets(copying_of(a)))
        lacks = !respond_to_ready(a, call);
    const bool made = taken > 0 || s.ready_head != first;
    const call_result result = end_copying(a, begun, a.batch_rx, made, lacks, call);
    if (result.stalled) return {0, result.stalled};
    // a request counts when it is taken, not once more when its response leaves
    if (taken > 0 || (result.objects == 0 && !result.worked)) return {taken};
    return went_on(call);
}

}  // namespace wt
