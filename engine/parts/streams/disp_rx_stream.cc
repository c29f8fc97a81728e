// disp_rx of a stream: gives packets to TCP. ARP, ICMP and hellos are as everywhere.
#include <rte_ether.h>
#include <rte_ip.h>

#include "core/checksum.h"
#include "core/packet.h"
#include "parts/copies/copying.h"
#include "parts/streams/stream.h"
#include "stages/application.h"
#include "stages/dispatcher_control.h"

namespace wt {

namespace {

// Headers of Ethernet, IPv4 and TCP without options.
constexpr uint32_t least_bytes = 14 + 20 + 20;
// More fragments, and the offset of one: TCP would take each for a segment.
constexpr uint16_t fragment_mask = RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK);

bool is_tcp_for_us(const dispatcher &d, const rte_mbuf *m) {
    const uint8_t *const frame = rte_pktmbuf_mtod(m, const uint8_t *);
    return m->nb_segs == 1 && m->data_len >= least_bytes &&
           std::memcmp(frame, d.control.us.mac.bytes, sizeof d.control.us.mac.bytes) == 0 &&
           load<uint16_t>(frame + offset::type) == RTE_BE16(RTE_ETHER_TYPE_IPV4) &&
           frame[offset::protocol] == IPPROTO_TCP &&
           (load<uint16_t>(frame + offset::fragment) & fragment_mask) == 0 &&
           load<uint32_t>(frame + offset::destination_ip) == rte_cpu_to_be_32(d.control.us.ip);
}

// What is no segment of TCP.
void receive_other(dispatcher &d, rte_mbuf *m, return_burst &back, const stage_call &call) {
    if (m->nb_segs != 1) return drop_packet(m, drop::chained, call);
    parsed_frame f;
    drop why;
    const parse_result result = frame_parse(frame_of(m), m->data_len, d.control.us, &f, &why);
    if (result == parse_result::control) return receive_control(d, m, back, call);
    if (result == parse_result::dropped) return drop_packet(m, why, call);
    frame_cut_options(frame_of(m), f);
    set_length(m, frame_header_bytes + f.payload_bytes);
    if (d.control.handshake != nullptr && f.payload_bytes >= hello_stable_bytes && is_hello(message_of(m)))
        return receive_control<control_receive_hello>(d, m, back, call);
    drop_packet(m, drop::no_message_handler, call);
}

mac_address sender_of(rte_mbuf *m) {
    mac_address from;
    std::memcpy(from.bytes, frame_of(m) + sizeof from.bytes, sizeof from.bytes);
    return from;
}

bool copies_wait(const stream &s) { return s.of->bodies && copying_of(*s.of).pending.count() > 0; }

// Gives a segment to TCP. Not `not_stalled`: it has to wait, and for what.
stalled_for receive_segment(dispatcher &d, rte_mbuf *m, return_burst &back, const stage_call &call) {
    stream &s = stream_of(d);
    const uint8_t *const packet = frame_of(m) + offset::ip;
    const uint32_t bytes = m->data_len - offset::ip;
    if (unlikely(copies_wait(s) && wt_tcp_would_empty(s.connection.get(), packet, bytes))) return for_copies;
    rte_mbuf *const reply = stream_take_spare(s);
    if (unlikely(reply == nullptr)) return for_mbufs;
    const mac_address from = sender_of(m);
    // A server learns here who its peer is. A client is told, by main, which may do so now.
    if (unlikely(wt_tcp_state_of(s.connection.get()) == tcp_state::listening)) s.peer = from;
    const uint32_t replied = wt_tcp_take_packet(s.connection.get(), stream_now_us(s, call), packet, bytes,
                                                frame_of(reply) + offset::ip);
    rte_pktmbuf_free(m);
    if (likely(replied == 0)) {
        s.spare[s.spares++] = reply;
        return not_stalled;
    }
    stream_finish_frame(s, from, reply, replied);
    count_tx_bytes(d.nic, reply->pkt_len, call);
    back.to[back.count++] = reply;
    return not_stalled;
}

}  // namespace

call_result disp_rx_stream(void *role, const stage_call &call) {
    dispatcher &d = *static_cast<dispatcher *>(role);
    uint32_t count;
    rte_mbuf **packets = handover_peek(*d.nic.received, d.batch_rx, &count);
    if (count == 0) return {0};
    return_burst back{};
    back.to = handover_room(*d.forwards, &back.room);
    if (unlikely(back.room == 0)) return {0, wanted_by(*d.forwards)};
    count = std::min(count, back.room);  // each may have a reply
    stalled_for want = not_stalled;
    uint32_t taken = 0;
    for (; taken < count; taken++) {
        if (taken + 4 < count) rte_prefetch0(frame_of(packets[taken + 4]));
        rte_mbuf *const m = packets[taken];
        const uint32_t bytes = m->pkt_len;
        if (unlikely(!is_tcp_for_us(d, m)))
            receive_other(d, m, back, call);
        else if ((want = receive_segment(d, m, back, call)) != not_stalled)
            break;
        call.stats->rx_bytes += bytes;
    }
    if (back.count > 0) handover_put(*d.forwards, back.count);
    handover_consume(*d.nic.received, taken);
    stream_publish_state(stream_of(d));
    return {taken, taken == 0 ? want : not_stalled};
}

}  // namespace wt
