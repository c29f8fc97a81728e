// app_rx of a server where a request and its response are one segment in one mbuf.
//
// Nothing can be missing here, neither mbufs nor segments, so a burst goes through in one call. Its packets
// stay where they were taken to, and move up only behind one that was dropped: right behind stores of a
// pointer each, the wide loads of a put would wait until every one of them has left the CPU's store buffer.
#include "stages/app_rx_server.h"
#include "stages/stages.h"

namespace wt {

namespace {

// Sets the lengths of a request and of its response, if they vary.
void set_lengths(application &a, wt_exchange &x, wt_segment &request, wt_segment &response,
                 const rte_mbuf *m) {
    server_responding &s = *a.responding;
    if (s.requests_vary) x.request.length = request.length = body_bytes(m);
    if (s.sizes) x.response.length = response.length = size_next(*s.sizes) - message_header_bytes;
}

// Builds the handler's views of a burst, whose headers become those of responses; returns how many requests
// are valid. Only the data pointers change from burst to burst (prepare_in_place). Exchanges are copied,
// because the handler may write to them.
template <bool sizes_vary>
uint32_t build_views(application &a, uint32_t count, const stage_call &call) {
    server_responding &s = *a.responding;
    rte_mbuf **const packets = s.packets.data();
    wt_segment *const requests = s.request_views.data(), *const responses = s.response_views.data();
    wt_exchange *const exchanges = s.exchanges.data();
    const wt_exchange *const initial = s.initial_exchanges.data();
    const body_range allowed = single_segment_range(a);
    uint32_t valid = 0;
    std::copy_n(initial, count, exchanges);  // all at once: widest moves
    for (uint32_t i = 0; i < count; i++) {
        if (i + 4 < count) prefetch_message(packets[i + 4]);
        rte_mbuf *m = packets[i];
        uint8_t *message = message_of(m);
        if (unlikely(!is_single_segment(m, message, allowed))) {
            drop_packet(m, single_segment_fault(message), call);
            continue;
        }
        *message = static_cast<uint8_t>(message_kind::response);  // while its line is at hand
        requests[valid].data = responses[valid].data = message + message_header_bytes;
        if constexpr (sizes_vary) set_lengths(a, exchanges[valid], requests[valid], responses[valid], m);
        if (unlikely(valid != i)) packets[valid] = m;
        valid++;
    }
    return valid;
}

// Gives the responses their lengths. Returns how many there are.
uint32_t finish_responses(application &a, uint32_t count, const stage_call &call) {
    rte_mbuf **const packets = a.responding->packets.data();
    const wt_exchange *const exchanges = a.responding->exchanges.data();
    const uint32_t most = a.response.body_bytes;
    uint32_t responses = 0;
    for (uint32_t i = 0; i < count; i++) {
        rte_mbuf *m = packets[i];
        const wt_exchange &x = exchanges[i];
        if (unlikely(x.flags & WT_NO_RESPONSE)) {
            drop_packet(m, drop::without_response, call);
            continue;
        }
        set_length(m, body_offset + std::min(x.response.length, most));
        if (unlikely(responses != i)) packets[responses] = m;
        responses++;
    }
    return responses;
}

}  // namespace

call_result respond_in_place(application &a, const stage_call &call) {
    const uint32_t count = take_burst(a);
    if (count == 0) return {0};
    const bool sizes_vary = a.responding->requests_vary || a.responding->sizes;
    const uint32_t valid =
        unlikely(sizes_vary) ? build_views<true>(a, count, call) : build_views<false>(a, count, call);
    if (valid > 0) run_handler(a, valid);
    outbox_send_from(a.out, a.responding->packets.data(), finish_responses(a, valid, call));
    return {count};
}

void prepare_in_place(application &a) {
    server_responding &s = *a.responding;
    for (wt_segment &view : s.request_views) view.length = a.request.body_bytes;
    for (wt_segment &view : s.response_views) view.length = a.response.body_bytes;
    s.initial_exchanges.resize(s.exchanges.size());
    for (size_t i = 0; i < s.exchanges.size(); i++)
        s.initial_exchanges[i] = {{&s.request_views[i], 1, a.request.body_bytes},
                                  {&s.response_views[i], 1, a.response.body_bytes},
                                  nullptr,
                                  a.workload,
                                  WT_RESPONSE_IN_REQUEST,
                                  0};
}

}  // namespace wt
