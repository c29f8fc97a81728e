// disp_tx: gathers the applications' packets, writes their headers, hands the burst to nic_tx.
#include <rte_prefetch.h>

#include "core/packet.h"
#include "core/port_checksums.h"
#include "stages/dispatcher_control.h"
#include "stages/stages.h"

namespace wt {

// Takes packets from each link in turn until `room` is used.
static uint32_t gather(dispatcher &d, rte_mbuf **to, uint32_t room) {
    uint32_t count = 0;
    const uint32_t links = static_cast<uint32_t>(d.links.size());
    for (uint32_t i = 0; i < links && count < room; i++) {
        count += d.links[d.next_link]->to_dispatcher->take(to + count, room - count);
        if (++d.next_link == links) d.next_link = 0;
    }
    return count;
}

// `already`: packets that this call has sent before. `write_headers`: of one packet; it returns the bytes
// that travel.
template <typename Write>
static call_result dispatch(dispatcher &d, uint32_t already, const stage_call &call, Write write_headers) {
    uint32_t room;
    rte_mbuf **packets = handover_room(*d.nic.sending, &room);
    if (unlikely(room == 0)) {
        for (link *l : d.links)
            if (l->to_dispatcher->used() > 0 && already == 0) return {0, wanted_by(*d.nic.sending)};
        return {already};
    }
    const uint32_t count = gather(d, packets, std::min(room, d.batch_tx - already));
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i + 4 < count) rte_prefetch0(frame_of(packets[i + 4]));
        rte_mbuf *m = packets[i];
        bytes += write_headers(m);
    }
    if (count > 0) handover_put(*d.nic.sending, count);
    count_tx_bytes(d.nic, bytes, call);
    return {count + already};
}

// The headers that a packet of a client takes. `spread`: the server has other queues than the client, and
// each message goes to one of them.
template <bool spread>
static inline frame_template &headers_for(dispatcher &d, rte_mbuf *m, uint32_t payload) {
    flow_headers *of = &d.headers;
    if constexpr (spread)
        of = &d.spread[message_queue(message_of(m), static_cast<uint32_t>(d.spread.size()))];
    frame_template &full = (*of)[0], &other = (*of)[1];
    return payload == full.payload_bytes ? full : other;
}

template <udp_checksum checksum, bool by_port = false, bool spread = false>
static call_result send_requests(dispatcher &d, const stage_call &call) {
    const uint32_t control = send_control(d, call);
    return dispatch(d, control, call, [&](rte_mbuf *m) {
        const uint32_t payload = m->pkt_len - frame_header_bytes;
        frame_write<checksum>(frame_of(m), headers_for<spread>(d, m, payload), payload);
        if constexpr (by_port) leave_checksums_to_port(m, d.port_checksums);
        pad_frame(m);
        return m->pkt_len;
    });
}

call_result disp_tx_client(void *role, const stage_call &call) {
    dispatcher &d = *static_cast<dispatcher *>(role);
    return d.checksum == udp_checksum::whole ? send_requests<udp_checksum::whole>(d, call)
                                             : send_requests<udp_checksum::none>(d, call);
}

call_result disp_tx_client_by_port(void *role, const stage_call &call) {
    return send_requests<udp_checksum::none, true>(*static_cast<dispatcher *>(role), call);
}

call_result disp_tx_client_spread(void *role, const stage_call &call) {
    dispatcher &d = *static_cast<dispatcher *>(role);
    return d.checksum == udp_checksum::whole ? send_requests<udp_checksum::whole, false, true>(d, call)
                                             : send_requests<udp_checksum::none, false, true>(d, call);
}

call_result disp_tx_client_spread_by_port(void *role, const stage_call &call) {
    return send_requests<udp_checksum::none, true, true>(*static_cast<dispatcher *>(role), call);
}

// A response carries the headers of its request, turned around.
template <udp_checksum checksum, bool by_port = false>
static call_result send_responses(dispatcher &d, const stage_call &call) {
    return dispatch(d, 0, call, [&](rte_mbuf *m) {
        frame_turn<checksum>(frame_of(m), m->pkt_len - frame_header_bytes);
        if constexpr (by_port) leave_checksums_to_port(m, d.port_checksums);
        pad_frame(m);
        return m->pkt_len;
    });
}

call_result disp_tx_server(void *role, const stage_call &call) {
    dispatcher &d = *static_cast<dispatcher *>(role);
    return d.checksum == udp_checksum::whole ? send_responses<udp_checksum::whole>(d, call)
                                             : send_responses<udp_checksum::none>(d, call);
}

call_result disp_tx_server_by_port(void *role, const stage_call &call) {
    return send_responses<udp_checksum::none, true>(*static_cast<dispatcher *>(role), call);
}

template <bool spread>
static call_result send_requests_ipv6(dispatcher &d, const stage_call &call) {
    const uint32_t control = send_control(d, call);
    return dispatch(d, control, call, [&](rte_mbuf *m) {
        const uint32_t payload = m->pkt_len - frame_header_bytes;
        frame_template &headers = headers_for<spread>(d, m, payload);
        widen_to_ipv6(m);
        frame_ipv6_write(frame_of(m), headers, payload);
        return m->pkt_len;
    });
}

call_result disp_tx_client_ipv6(void *role, const stage_call &call) {
    return send_requests_ipv6<false>(*static_cast<dispatcher *>(role), call);
}

call_result disp_tx_client_spread_ipv6(void *role, const stage_call &call) {
    return send_requests_ipv6<true>(*static_cast<dispatcher *>(role), call);
}

call_result disp_tx_server_ipv6(void *role, const stage_call &call) {
    return dispatch(*static_cast<dispatcher *>(role), 0, call, [](rte_mbuf *m) {
        const uint32_t payload = m->pkt_len - frame_header_bytes;
        widen_to_ipv6(m);
        frame_ipv6_turn(frame_of(m), payload);
        return m->pkt_len;
    });
}

// Who receives it is a matter of the transport.
call_result disp_tx_unframed(void *role, const stage_call &call) {
    dispatcher &d = *static_cast<dispatcher *>(role);
    const uint32_t control = d.side == side::client ? send_control(d, call) : 0;
    return dispatch(d, control, call, [](const rte_mbuf *m) { return m->pkt_len - frame_header_bytes; });
}

}  // namespace wt
