// disp_rx: the packet handler, the parser, and the choice of the application.
#include <rte_prefetch.h>

#include <cstddef>

#include "core/packet.h"
#include "core/plain_frame.h"
#include "core/port_checksums.h"
#include "core/vlan.h"
#include "stages/dispatcher_control.h"
#include "stages/stages.h"

namespace wt {

namespace {

// The UDP payload's bytes of a frame that claims to be a hello, or 0 where it is no frame for us.
template <framing frames>
uint32_t hello_payload_bytes(const dispatcher &d, rte_mbuf *m) {
    if constexpr (frames == framing::ipv4)
        return plain_payload_bytes(frame_of(m), m->data_len, d.plain, hello_stable_bytes);
    parsed_frame f;
    drop why;
    const parse_result result = frame_ipv6_parse(frame_of(m), m->data_len, d.control.us, &f, &why);
    return result == parse_result::udp && f.payload_bytes >= hello_stable_bytes ? f.payload_bytes : 0;
}

// Takes the hellos out of a burst, because a packet handler may do anything with a packet. Returns how many
// packets are left.
template <framing frames>
uint32_t take_hellos(dispatcher &d, rte_mbuf **packets, uint32_t count, return_burst &back,
                     const stage_call &call) {
    constexpr uint32_t more = frames == framing::ipv6 ? ipv6_more_bytes : 0;
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        rte_mbuf *m = packets[i];
        const bool claims = m->data_len >= frame_header_bytes + more + hello_stable_bytes &&
                            is_hello(message_of(m) + more) && m->nb_segs == 1;
        const uint32_t payload = unlikely(claims) ? hello_payload_bytes<frames>(d, m) : 0;
        if (likely(payload == 0)) {
            packets[left++] = m;
            continue;
        }
        call.stats->rx_bytes += m->pkt_len;
        m->data_off = static_cast<uint16_t>(m->data_off + more);
        set_length(m, frame_header_bytes + payload);
        receive_control<control_receive_hello>(d, m, back, call);
    }
    return left;
}

// Removes IP options and padding. The payload moves, not the header: a response in this mbuf may need all of
// its room.
void normalise(rte_mbuf *m, const parsed_frame &f) {
    frame_cut_options(frame_of(m), f);
    set_length(m, frame_header_bytes + f.payload_bytes);
}

// The link of a request: all segments of a message must reach the same application.
uint32_t server_link(const dispatcher &d, const message_header &h, drop *why) {
    if (h.kind != message_kind::request) return *why = drop::bad_message_header, no_link;
    return h.slot % static_cast<uint32_t>(d.links.size());
}

// The link of a response: that of the application that sent the request. An echoed request is its own
// response.
uint32_t client_link(const dispatcher &d, const message_header &h, drop *why) {
    if (h.kind != message_kind::response && h.kind != message_kind::request)
        return *why = drop::bad_message_header, no_link;
    const uint32_t link = h.application < d.link_of.size() ? d.link_of[h.application] : no_link;
    if (link == no_link) *why = drop::unknown_application;
    return link;
}

// The link for a message; no_link if there is none, with the reason in *why.
uint32_t link_of_message(const dispatcher &d, const uint8_t *message, drop *why) {
    if (likely(message_matches(d.only_link, message))) return 0;
    if (!d.workload_has_messages) return *why = drop::no_message_handler, no_link;
    const message_header h = message_header_read(message);
    const uint32_t link = d.side == side::client ? client_link(d, h, why) : server_link(d, h, why);
    if (link != no_link && h.workload != d.workload) return *why = drop::wrong_workload, no_link;
    return link;
}

// Parses a frame that is not plain. True: it is a segment of a message, and `m` is normalised. False: it was
// a control frame, or was dropped by name.
bool receive_rare(dispatcher &d, rte_mbuf *m, return_burst &back, const stage_call &call) {
    if (m->nb_segs != 1) return drop_packet(m, drop::chained, call), false;
    parsed_frame f;
    drop why;
    const parse_result result = frame_parse(frame_of(m), m->data_len, d.control.us, &f, &why);
    if (result == parse_result::control) return receive_control(d, m, back, call), false;
    if (result == parse_result::dropped) return drop_packet(m, why, call), false;
    if (f.payload_bytes < message_header_bytes && d.workload_has_messages)
        return drop_packet(m, drop::bad_message_header, call), false;
    return normalise(m, f), true;
}

// The payload's bytes of a plain frame, else 0; what the port has checked is not checked again.
template <bool by_port>
uint32_t payload_of(dispatcher &d, rte_mbuf *m) {
    const uint8_t *const frame = frame_of(m);
    const known_sums known = by_port ? checked_by_port(m) : known_sums::none;
    if (known == known_sums::both)
        return plain_payload_bytes<known_sums::both>(frame, m->pkt_len, d.plain, message_header_bytes,
                                                     d.headers_kept);
    if (known == known_sums::udp)
        return plain_payload_bytes<known_sums::udp>(frame, m->pkt_len, d.plain, message_header_bytes,
                                                    d.headers_kept);
    return plain_payload_bytes(frame, m->pkt_len, d.plain, message_header_bytes, d.headers_kept);
}

// Parses a frame. False: it was dropped or was a control frame.
template <bool by_port>
bool receive_frame(dispatcher &d, rte_mbuf *m, return_burst &back, const stage_call &call) {
    const uint32_t payload = likely(m->nb_segs == 1) ? payload_of<by_port>(d, m) : 0;
    if (unlikely(payload == 0)) return receive_rare(d, m, back, call);
    set_length(m, frame_header_bytes + payload);  // without padding
    return true;
}

// Likewise of IPv6, in one way for all frames.
bool receive_ipv6(dispatcher &d, rte_mbuf *m, return_burst &back, const stage_call &call) {
    if (m->nb_segs != 1) return drop_packet(m, drop::chained, call), false;
    parsed_frame f;
    drop why;
    const parse_result result = frame_ipv6_parse(frame_of(m), m->data_len, d.control.us, &f, &why);
    if (result == parse_result::control) return receive_control(d, m, back, call), false;
    if (result == parse_result::dropped) return drop_packet(m, why, call), false;
    if (f.payload_bytes < message_header_bytes && d.workload_has_messages)
        return drop_packet(m, drop::bad_message_header, call), false;
    return narrow_from_ipv6(m, f.payload_bytes), true;
}

// Parses one packet. Returns the link that it goes to; no_link: it was dropped or was a control frame.
// Without frames there is no header to check: who may send is a matter of the transport.
template <framing frames, bool by_port>
uint32_t receive(dispatcher &d, rte_mbuf *m, return_burst &back, const stage_call &call) {
    const uint8_t *const message = message_of(m) + (frames == framing::ipv6 ? ipv6_more_bytes : 0);
    drop why{};
    if constexpr (frames == framing::ipv4) {
        if (!receive_frame<by_port>(d, m, back, call)) return no_link;
    } else if constexpr (frames == framing::ipv6) {
        if (!receive_ipv6(d, m, back, call)) return no_link;
    } else if (unlikely(m->data_len < body_offset)) {
        return drop_packet(m, drop::bad_message_header, call), no_link;
    }
    const uint32_t link = link_of_message(d, message, &why);
    if (likely(link != no_link)) return link;
    if (d.control.handshake != nullptr && why == drop::bad_message_header && is_hello(message))
        receive_control<control_receive_hello>(d, m, back, call);
    else
        drop_packet(m, why, call);
    return no_link;
}

// Hands packets to an application. Where it has no room for one that came alone, that one waits.
void hand_on(dispatcher &d, uint32_t link, rte_mbuf *const *packets, uint32_t count) {
    if (likely(d.links[link]->to_application->put(packets, count) == count)) return;
    d.waiting = packets[0];
    d.waits_for = d.links[link];
}

// Parses a burst and hands its messages to the applications. Returns the bytes of the burst.
//
// While all packets go to the first link none is stored again: right behind stores of a pointer each, the
// wide loads of a put would wait until every one of them has left the CPU's store buffer.
template <framing frames, bool by_port>
uint64_t receive_all(dispatcher &d, rte_mbuf **packets, uint32_t count, return_burst &back,
                     const stage_call &call) {
    uint64_t bytes = 0;
    const auto receive_at = [&](uint32_t i) {
        if (i + 4 < count) rte_prefetch0(frame_of(packets[i + 4]));
        rte_mbuf *m = packets[i];
        bytes += frames != framing::none ? m->pkt_len : bytes_on_wire(d.nic, m);
        return receive<frames, by_port>(d, m, back, call);
    };
    uint32_t i = 0, link = 0;
    while (i < count && (link = receive_at(i)) == 0) i++;
    if (likely(i == count)) return hand_on(d, 0, packets, count), bytes;

    const uint32_t links = static_cast<uint32_t>(d.links.size());
    uint32_t sorted[max_links];  // counts by link
    std::fill_n(sorted, links, 0);
    if (i > 0) sorted[0] = i, std::copy_n(packets, i, d.sorted[0].data());
    for (;; link = receive_at(i)) {
        if (link != no_link) d.sorted[link][sorted[link]++] = packets[i];
        if (++i == count) break;
    }
    for (uint32_t l = 0; l < links; l++)
        if (sorted[l] > 0) hand_on(d, l, d.sorted[l].data(), sorted[l]);
    return bytes;
}

// Builds the handler's view of a packet. Two stores of 8 bytes: one store for each field makes `l2fwd` a few
// percent slower.
void build_view(const rte_mbuf *m, uint32_t bytes, wt_packet *view) {
    static_assert(offsetof(wt_packet, headroom) == offsetof(wt_packet, length) + 4 && WT_PASS == 0 &&
                  sizeof *view == offsetof(wt_packet, length) + 8);
    const uint64_t length_headroom_pass = bytes | uint64_t{m->data_off} << 32;
    view->data = rte_pktmbuf_mtod(m, uint8_t *);
    std::memcpy(&view->length, &length_headroom_pass, sizeof length_headroom_pass);
}

// Drops packets that a driver spread over several mbufs, because a view shows one. Returns how many packets
// are left.
__rte_noinline uint32_t drop_chains(rte_mbuf **packets, uint32_t count, const stage_call &call) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (packets[i]->nb_segs == 1)
            packets[left++] = packets[i];
        else
            drop_packet(packets[i], drop::chained, call);
    }
    return left;
}

// Builds the handler's views of a burst; returns how many packets are in it, without those that are chains.
// *bytes: of these. Chains are found by their bytes: it costs one addition a packet.
uint32_t build_views(dispatcher &d, rte_mbuf **packets, uint32_t count, uint64_t *bytes,
                     const stage_call &call) {
    wt_packet *const views = d.views.data();
    uint64_t shown = 0, whole = 0;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < count; i++) {
        const rte_mbuf *const m = packets[i];
        const uint32_t bytes = m->data_len;
        shown += bytes;
        whole += m->pkt_len;  // before the stores: behind them the compiler would read all of it again
        build_view(m, bytes, views + i);
    }
    call.stats->rx_bytes += whole;
    *bytes = shown;
    if (likely(shown == whole)) return count;
    const uint32_t left = drop_chains(packets, count, call);
    *bytes = 0;
    for (uint32_t i = 0; i < left; i++) {
        build_view(packets[i], packets[i]->data_len, views + i);
        *bytes += packets[i]->data_len;
    }
    return left;
}

// Copies the handler's changes of data and length to the mbufs. Returns the bytes of the burst.
uint64_t write_back(rte_mbuf **packets, wt_packet *views, uint32_t count) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *start = static_cast<uint8_t *>(packets[i]->buf_addr);
        // A packet for the parser starts no later than a driver would put it, for the reason given in
        // normalise().
        if (views[i].verdict == WT_PASS && views[i].data > start + RTE_PKTMBUF_HEADROOM)
            views[i].data = static_cast<uint8_t *>(
                std::memmove(start + RTE_PKTMBUF_HEADROOM, views[i].data, views[i].length));
        packets[i]->data_off = static_cast<uint16_t>(views[i].data - start);
        set_length(packets[i], views[i].length);
        bytes += views[i].length;
    }
    return bytes;
}

// Applies the handler's verdicts: forwarded packets go to `back`, passed ones to d.passed. Returns how many
// are passed. `bytes`: of the whole burst.
uint32_t apply_verdicts(dispatcher &d, rte_mbuf **packets, uint32_t count, uint64_t bytes, return_burst &back,
                        const stage_call &call) {
    const wt_packet *views = d.views.data();
    uint32_t i = 0, passed = 0;
#pragma GCC unroll 4
    for (; i < count; i++)  // usually the whole burst is forwarded
        if (views[i].verdict != WT_FORWARD) break;
    std::copy_n(packets, i, back.to + back.count);
    back.count += i;
    for (; i < count; i++) {
        if (views[i].verdict == WT_FORWARD) {
            back.to[back.count++] = packets[i];
            continue;
        }
        bytes -= packets[i]->pkt_len;
        if (views[i].verdict == WT_PASS)
            d.passed[passed++] = packets[i];
        else
            drop_packet(packets[i], drop::by_handler, call);
    }
    count_tx_bytes(d.nic, bytes, call);
    return passed;
}

// A handler may use all headroom that it sees.
void keep_room_for_tags(wt_packet *views, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) views[i].headroom -= vlan_tag_bytes;
}

// Calls the packet handler. The packets that it passes are in d.passed; returns how many they are.
uint32_t handle_packets(dispatcher &d, rte_mbuf **packets, uint32_t count, return_burst &back,
                        const stage_call &call) {
    wt_packet *views = d.views.data();
    uint64_t bytes;
    count = build_views(d, packets, count, &bytes, call);
    if (unlikely(count == 0)) return 0;
    if (unlikely(d.nic.tag != 0)) keep_room_for_tags(views, count);
    d.packet_handler->packet(d.packet_state, views, count);
    if (unlikely(d.packet_handler->flags & WT_MOVES_DATA)) bytes = write_back(packets, views, count);
    return apply_verdicts(d, packets, count, bytes, back, call);
}

// How many packets are certain to find room in every application's ring.
uint32_t room_ahead(const dispatcher &d, uint32_t most) {
    for (const link *l : d.links) most = std::min(most, l->to_application->room());
    return most;
}

template <framing frames, bool by_port>
void dispatch_burst(dispatcher &d, rte_mbuf **packets, uint32_t count, return_burst &back,
                    const stage_call &call) {
    if (frames == framing::none || d.packet_handler == nullptr) {
        call.stats->rx_bytes += receive_all<frames, by_port>(d, packets, count, back, call);
        return;
    }
    const uint32_t left =
        unlikely(d.control.handshake != nullptr) ? take_hellos<frames>(d, packets, count, back, call) : count;
    const uint32_t passed = likely(left > 0) ? handle_packets(d, packets, left, back, call) : 0;
    if (passed > 0) receive_all<frames, by_port>(d, d.passed.data(), passed, back, call);
}

// Where one application has no room, packets of the others go on: one by one, up to one for a full ring,
// which waits. Returns how many were taken.
template <framing frames, bool by_port>
__rte_noinline uint32_t dispatch_singly(dispatcher &d, rte_mbuf **packets, uint32_t count, return_burst &back,
                                        const stage_call &call) {
    uint32_t taken = 0;
    while (taken < count && d.waiting == nullptr)
        dispatch_burst<frames, by_port>(d, packets + taken++, 1, back, call);
    return taken;
}

// Hands on the packet that waits. False: there is no room for it yet.
bool hand_on_waiting(dispatcher &d) {
    if (d.waits_for->to_application->put(&d.waiting, 1) == 0) return false;
    d.waiting = nullptr;
    return true;
}

template <framing frames, bool by_port = false>
call_result dispatch_received(void *role, const stage_call &call) {
    dispatcher &d = *static_cast<dispatcher *>(role);
    const bool waited = unlikely(d.waiting != nullptr);
    if (waited && !hand_on_waiting(d)) return {0, for_ring};
    uint32_t count;
    return_burst back{};
    rte_mbuf **packets = handover_peek(*d.nic.received, d.batch_rx, &count);
    if (count == 0) return waited ? went_on(call) : call_result{0};
    back.to = handover_room(*d.forwards, &back.room);
    if (d.packet_handler != nullptr) count = std::min(count, back.room);
    if (unlikely(count == 0)) return waited ? went_on(call) : call_result{0, wanted_by(*d.forwards)};

    uint32_t taken = room_ahead(d, count);
    if (likely(taken > 0)) dispatch_burst<frames, by_port>(d, packets, taken, back, call);
    if (unlikely(taken < count) && d.links.size() > 1)
        taken += dispatch_singly<frames, by_port>(d, packets + taken, count - taken, back, call);
    if (unlikely(taken == 0)) return waited ? went_on(call) : call_result{0, for_ring};
    if (back.count > 0) handover_put(*d.forwards, back.count);
    handover_consume(*d.nic.received, taken);
    return {taken};
}

}  // namespace

call_result disp_rx(void *role, const stage_call &call) {
    return dispatch_received<framing::ipv4>(role, call);
}

call_result disp_rx_ipv6(void *role, const stage_call &call) {
    return dispatch_received<framing::ipv6>(role, call);
}

call_result disp_rx_by_port(void *role, const stage_call &call) {
    return dispatch_received<framing::ipv4, true>(role, call);
}

call_result disp_rx_unframed(void *role, const stage_call &call) {
    return dispatch_received<framing::none>(role, call);
}

}  // namespace wt
