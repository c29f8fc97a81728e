// disp_rx: the packet handler, the parser, and the choice of the application.
#include <rte_prefetch.h>

#include "core/plain_frame.h"
#include "stages/roles.h"

namespace wt {

namespace {

uint8_t *frame_of(rte_mbuf *m) { return rte_pktmbuf_mtod(m, uint8_t *); }

void drop_packet(rte_mbuf *m, drop why, const stage_call &call) {
    count_drop(call, why);
    rte_pktmbuf_free(m);
}

// Where packets go that leave by the queue that they came from.
struct way_back {
    rte_mbuf **to;
    uint32_t room, count;
};

// An ARP reply that we asked for, on a client.
bool learn_peer(dispatcher &d, const uint8_t *frame, uint32_t bytes) {
    mac_address mac;
    if (d.resolver == nullptr || !arp_reply_read(frame, bytes, d.peer_ip, &mac)) return false;
    uint64_t known = uint64_t{1} << 63;
    std::memcpy(&known, mac.bytes, sizeof mac.bytes);
    d.resolver->answer.store(known, std::memory_order_release);
    return true;
}

// ARP and ICMP: answered in place, on every queue.
void control(dispatcher &d, rte_mbuf *m, way_back &back, const stage_call &call) {
    if (learn_peer(d, frame_of(m), m->data_len)) return rte_pktmbuf_free(m);
    if (unlikely(back.count == back.room)) return drop_packet(m, drop::reply_no_room, call);
    drop why;
    const uint32_t reply = respond(frame_of(m), m->data_len, d.us, &why);
    if (reply == 0) return drop_packet(m, why, call);
    m->data_len = static_cast<uint16_t>(reply);
    m->pkt_len = reply;
    pad_frame(m);
    back.to[back.count++] = m;
}

// Brings the payload to its fixed place behind a header without IP options, and cuts the padding off. The payload moves, not
// the header: an answer in this mbuf may need all of its room.
void normalise(rte_mbuf *m, const parsed_frame &f) {
    if (unlikely(f.payload_offset != frame_header_bytes)) {
        uint8_t *frame = frame_of(m);
        std::memmove(frame + 34, frame + f.payload_offset - 8, 8 + f.payload_bytes);
        frame[14] = 0x45;
    }
    m->data_len = static_cast<uint16_t>(frame_header_bytes + f.payload_bytes);
    m->pkt_len = m->data_len;
}

// Which of the dispatcher's links a request goes to: all segments of a message must meet in one application.
uint32_t server_link(const dispatcher &d, const message_header &h, drop *why) {
    if (h.kind != message_kind::request) return *why = drop::bad_message_header, no_link;
    const uint32_t links = static_cast<uint32_t>(d.links.size());
    return links == 1 ? 0 : h.slot % links;
}

// An answer goes back to the application that asked. An echoed request counts as its own answer.
uint32_t client_link(const dispatcher &d, const message_header &h, drop *why) {
    if (h.kind != message_kind::answer && h.kind != message_kind::request) return *why = drop::bad_message_header, no_link;
    const uint32_t link = h.application < d.link_of.size() ? d.link_of[h.application] : no_link;
    if (link == no_link) *why = drop::unknown_application;
    return link;
}

// The rare rest: what is not plain may be right all the same, or is answered or dropped here by name. True: `m` is
// normalised and a message's segment.
bool receive_rare(dispatcher &d, rte_mbuf *m, way_back &back, const stage_call &call) {
    if (m->nb_segs != 1) return drop_packet(m, drop::chained, call), false;
    parsed_frame f;
    drop why;
    const parse_result result = frame_parse(frame_of(m), m->data_len, d.us, &f, &why);
    if (result == parse_result::control) return control(d, m, back, call), false;
    if (result == parse_result::dropped) return drop_packet(m, why, call), false;
    if (f.payload_bytes < message_header_bytes && d.workload_has_messages)
        return drop_packet(m, drop::bad_message_header, call), false;
    return normalise(m, f), true;
}

template <bool is_client>
void receive(dispatcher &d, rte_mbuf *m, uint32_t *sorted, way_back &back, const stage_call &call) {
    const uint32_t payload = likely(m->nb_segs == 1) ? plain_payload_bytes(frame_of(m), m->data_len, d.plain) : 0;
    if (likely(payload >= message_header_bytes)) {
        m->data_len = static_cast<uint16_t>(frame_header_bytes + payload);  // without padding
        m->pkt_len = frame_header_bytes + payload;
    } else if (!receive_rare(d, m, back, call)) {
        return;
    }
    if (unlikely(!d.workload_has_messages)) return drop_packet(m, drop::no_message_handler, call);

    drop why;
    const message_header h = message_header_read(frame_of(m) + message_offset);
    const uint32_t link = is_client ? client_link(d, h, &why) : server_link(d, h, &why);
    if (unlikely(link == no_link)) return drop_packet(m, why, call);
    if (unlikely(h.workload != d.workload)) return drop_packet(m, drop::wrong_workload, call);
    d.sorted[link][sorted[link]++] = m;
}

// Shows the burst to the packet handler; what it passes is left in d.passed. Returns how many that are.
uint32_t handle_packets(dispatcher &d, rte_mbuf **packets, uint32_t count, way_back &back, const stage_call &call) {
    wt_packet *views = d.views.data();
    for (uint32_t i = 0; i < count; i++) {
        rte_mbuf *m = packets[i];
        views[i] = {frame_of(m), m->data_len, m->data_off, WT_PASS};
    }
    d.packet_handler->packet(d.packet_state, views, count);
    if (unlikely(d.packet_handler->flags & WT_MOVES_DATA)) {
        for (uint32_t i = 0; i < count; i++) {
            uint8_t *start = static_cast<uint8_t *>(packets[i]->buf_addr);
            // What goes on to the parser stands no further back than a driver puts it, for the same reason as in normalise.
            if (views[i].verdict == WT_PASS && views[i].data > start + RTE_PKTMBUF_HEADROOM)
                views[i].data = static_cast<uint8_t *>(std::memmove(start + RTE_PKTMBUF_HEADROOM, views[i].data, views[i].length));
            packets[i]->data_off = static_cast<uint16_t>(views[i].data - start);
            packets[i]->data_len = static_cast<uint16_t>(views[i].length);
            packets[i]->pkt_len = views[i].length;
        }
    }
    // In locals: through `back` every packet would wait for the store of the one before.
    rte_mbuf **out = back.to + back.count;
    uint32_t passed = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (likely(views[i].verdict == WT_FORWARD))
            *out++ = packets[i];
        else if (views[i].verdict == WT_PASS)
            d.passed[passed++] = packets[i];
        else
            drop_packet(packets[i], drop::by_handler, call);
    }
    back.count = static_cast<uint32_t>(out - back.to);
    return passed;
}

// The most packets that surely find room further on: towards every application, and towards the port.
uint32_t room_ahead(dispatcher &d, uint32_t most, uint32_t port_room) {
    if (d.packet_handler != nullptr) most = std::min(most, port_room);
    for (const link *l : d.links) most = std::min(most, l->to_application->room());
    return most;
}

template <bool is_client>
call_result disp_rx(dispatcher &d, const stage_call &call) {
    uint32_t count;
    way_back back{};
    rte_mbuf **packets = handover_peek(*d.received, d.batch_rx, &count);
    if (count == 0) return {0, false};
    back.to = handover_room(*d.forwards, &back.room);
    count = room_ahead(d, count, back.room);
    if (unlikely(count == 0)) return {0, true};

    const uint32_t taken = count;
    rte_mbuf **left = packets;
    if (d.packet_handler != nullptr) {
        count = handle_packets(d, packets, count, back, call);
        left = d.passed.data();
    }
    if (count > 0) {
        const uint32_t links = static_cast<uint32_t>(d.links.size());
        uint32_t sorted[max_links] = {};
        for (uint32_t i = 0; i < count; i++) {
            if (i + 4 < count) rte_prefetch0(frame_of(left[i + 4]));
            receive<is_client>(d, left[i], sorted, back, call);
        }
        for (uint32_t l = 0; l < links; l++)
            if (sorted[l] > 0) d.links[l]->to_application->put(d.sorted[l].data(), sorted[l]);
    }
    if (back.count > 0) handover_put(*d.forwards, back.count);
    handover_consume(*d.received, taken);
    return {taken, false};
}

}  // namespace

call_result disp_rx_client(void *role, const stage_call &call) { return disp_rx<true>(*static_cast<dispatcher *>(role), call); }
call_result disp_rx_server(void *role, const stage_call &call) { return disp_rx<false>(*static_cast<dispatcher *>(role), call); }

}  // namespace wt
