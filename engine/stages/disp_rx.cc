// disp_rx: the packet handler, the parser, and the choice of the application.
#include <rte_prefetch.h>

#include <cstddef>

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
    count_tx_bytes(d, m->pkt_len, call);
    back.to[back.count++] = m;
}

// A word of the other host. The server's answer leaves in the mbuf that it came in.
void hear(dispatcher &d, rte_mbuf *m, uint32_t payload_bytes, way_back &back, const stage_call &call) {
    uint8_t *const payload = frame_of(m) + message_offset;
    hello word;
    drop why;
    if (!hello_read(payload, payload_bytes, &word)) return drop_packet(m, drop::bad_hello, call);
    if (d.side == side::client)
        return greeter_take(*d.greeter, word, &why) ? rte_pktmbuf_free(m) : drop_packet(m, why, call);
    const uint32_t bytes = frame_header_bytes + hello_bytes;
    if (back.count == back.room || m->buf_len - m->data_off < static_cast<int>(bytes))
        return drop_packet(m, drop::reply_no_room, call);
    if (!greeter_answer(*d.greeter, &word, &why)) return drop_packet(m, why, call);
    if (is_refusal(word.beside)) count_drop(call, drop::refused_hello);  // its mbuf goes on as the answer
    hello_write(payload, word);
    frame_turn(frame_of(m), hello_bytes);
    m->data_len = static_cast<uint16_t>(bytes);
    m->pkt_len = bytes;
    count_tx_bytes(d, bytes, call);
    back.to[back.count++] = m;
}

// Takes the other host's words out of a burst before a packet handler does with them as it likes. Returns what is left.
uint32_t hear_first(dispatcher &d, rte_mbuf **packets, uint32_t count, way_back &back, const stage_call &call) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        rte_mbuf *m = packets[i];
        const bool claims = m->data_len >= frame_header_bytes + hello_stable_bytes && is_hello(frame_of(m) + message_offset);
        const uint32_t payload = unlikely(claims) ? plain_payload_bytes(frame_of(m), m->data_len, d.plain, hello_stable_bytes) : 0;
        if (likely(payload == 0)) {
            packets[left++] = m;
            continue;
        }
        call.stats->rx_bytes += m->pkt_len;
        hear(d, m, payload, back, call);
    }
    return left;
}

// Without IP options and padding. The payload moves, not the header: an answer in this mbuf may need all of its room.
void normalise(rte_mbuf *m, const parsed_frame &f) {
    frame_cut_options(frame_of(m), f);
    m->data_len = static_cast<uint16_t>(frame_header_bytes + f.payload_bytes);
    m->pkt_len = m->data_len;
}

// Which of the dispatcher's links a request goes to: all segments of a message must meet in one application.
uint32_t server_link(const dispatcher &d, const message_header &h, drop *why) {
    if (h.kind != message_kind::request) return *why = drop::bad_message_header, no_link;
    return h.slot % static_cast<uint32_t>(d.links.size());
}

// An answer goes back to the application that asked. An echoed request counts as its own answer.
uint32_t client_link(const dispatcher &d, const message_header &h, drop *why) {
    if (h.kind != message_kind::answer && h.kind != message_kind::request) return *why = drop::bad_message_header, no_link;
    const uint32_t link = h.application < d.link_of.size() ? d.link_of[h.application] : no_link;
    if (link == no_link) *why = drop::unknown_application;
    return link;
}

// The link for a message; no_link: there is none, *why says it.
uint32_t link_of_message(const dispatcher &d, const uint8_t *message, drop *why) {
    if (likely(message_matches(d.only_link, message))) return 0;
    if (!d.workload_has_messages) return *why = drop::no_message_handler, no_link;
    const message_header h = message_header_read(message);
    const uint32_t link = d.side == side::client ? client_link(d, h, why) : server_link(d, h, why);
    if (link != no_link && h.workload != d.workload) return *why = drop::wrong_workload, no_link;
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

// Parses one packet. Returns the link that it goes to; no_link: it has gone elsewhere.
uint32_t receive(dispatcher &d, rte_mbuf *m, way_back &back, const stage_call &call) {
    uint8_t *frame = frame_of(m);
    const uint32_t payload =
        likely(m->nb_segs == 1) ? plain_payload_bytes(frame, m->pkt_len, d.plain, message_header_bytes) : 0;
    if (likely(payload > 0)) {
        m->data_len = static_cast<uint16_t>(frame_header_bytes + payload);  // without padding
        m->pkt_len = frame_header_bytes + payload;
    } else if (!receive_rare(d, m, back, call)) {
        return no_link;
    }
    drop why{};
    const uint32_t link = link_of_message(d, frame + message_offset, &why);
    if (likely(link != no_link)) return link;
    if (d.greeter != nullptr && why == drop::bad_message_header && is_hello(frame + message_offset))
        hear(d, m, m->data_len - frame_header_bytes, back, call);
    else
        drop_packet(m, why, call);
    return no_link;
}

// Parses a burst and brings its messages to the applications. Returns its bytes.
uint64_t receive_all(dispatcher &d, rte_mbuf **packets, uint32_t count, way_back &back, const stage_call &call) {
    const uint32_t links = static_cast<uint32_t>(d.links.size());
    uint32_t sorted[max_links], first = 0;  // by link; the first one's in a register: most dispatchers have no other
    uint64_t bytes = 0;
    rte_mbuf **const of_first = links > 0 ? d.sorted[0].data() : nullptr;
    std::fill_n(sorted, links, 0);
    for (uint32_t i = 0; i < count; i++) {
        if (i + 4 < count) rte_prefetch0(frame_of(packets[i + 4]));
        rte_mbuf *m = packets[i];
        bytes += m->pkt_len;
        const uint32_t link = receive(d, m, back, call);
        if (likely(link == 0))
            of_first[first++] = m;
        else if (link != no_link)
            d.sorted[link][sorted[link]++] = m;
    }
    if (first > 0) sorted[0] = first;
    for (uint32_t l = 0; l < links; l++)
        if (sorted[l] > 0) d.links[l]->to_application->put(d.sorted[l].data(), sorted[l]);
    return bytes;
}

// A packet as its handler sees it; returns its bytes. Two stores of 8 bytes, where one for each field costs `l2fwd` a few percent.
uint32_t show(rte_mbuf *m, wt_packet *view) {
    static_assert(offsetof(wt_packet, headroom) == offsetof(wt_packet, length) + 4 && WT_PASS == 0 &&
                  sizeof *view == offsetof(wt_packet, length) + 8);
    const uint64_t length_headroom_pass = m->data_len | uint64_t{m->data_off} << 32;
    view->data = frame_of(m);
    std::memcpy(&view->length, &length_headroom_pass, sizeof length_headroom_pass);
    return m->pkt_len;
}

// Takes over what the handler made of data and length. Returns the burst's bytes.
uint64_t write_back(rte_mbuf **packets, wt_packet *views, uint32_t count) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *start = static_cast<uint8_t *>(packets[i]->buf_addr);
        // What goes on to the parser stands no further back than a driver puts it, for the same reason as in normalise.
        if (views[i].verdict == WT_PASS && views[i].data > start + RTE_PKTMBUF_HEADROOM)
            views[i].data = static_cast<uint8_t *>(std::memmove(start + RTE_PKTMBUF_HEADROOM, views[i].data, views[i].length));
        packets[i]->data_off = static_cast<uint16_t>(views[i].data - start);
        packets[i]->data_len = static_cast<uint16_t>(views[i].length);
        packets[i]->pkt_len = views[i].length;
        bytes += views[i].length;
    }
    return bytes;
}

// Sends forwarded packets back, drops, and leaves what is passed in d.passed. Returns how many that are. `bytes`: of them all.
uint32_t obey(dispatcher &d, rte_mbuf **packets, uint32_t count, uint64_t bytes, way_back &back, const stage_call &call) {
    const wt_packet *views = d.views.data();
    uint32_t i = 0, passed = 0;
#pragma GCC unroll 4
    for (; i < count; i++)  // the whole burst, as a rule
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
    count_tx_bytes(d, bytes, call);
    return passed;
}

// Shows the burst to the packet handler; what it passes is left in d.passed. Returns how many that are.
uint32_t handle_packets(dispatcher &d, rte_mbuf **packets, uint32_t count, way_back &back, const stage_call &call) {
    wt_packet *views = d.views.data();
    uint64_t bytes = 0;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < count; i++) bytes += show(packets[i], views + i);
    call.stats->rx_bytes += bytes;
    d.packet_handler->packet(d.packet_state, views, count);
    if (unlikely(d.packet_handler->flags & WT_MOVES_DATA)) bytes = write_back(packets, views, count);
    return obey(d, packets, count, bytes, back, call);
}

// The most packets that surely find room further on: towards every application, and towards the port.
uint32_t room_ahead(dispatcher &d, uint32_t most, uint32_t port_room) {
    if (d.packet_handler != nullptr) most = std::min(most, port_room);
    for (const link *l : d.links) most = std::min(most, l->to_application->room());
    return most;
}

}  // namespace

call_result disp_rx(void *role, const stage_call &call) {
    dispatcher &d = *static_cast<dispatcher *>(role);
    uint32_t count;
    way_back back{};
    rte_mbuf **packets = handover_peek(*d.received, d.batch_rx, &count);
    if (count == 0) return {0, false};
    back.to = handover_room(*d.forwards, &back.room);
    count = room_ahead(d, count, back.room);
    if (unlikely(count == 0)) return {0, true};

    if (d.packet_handler == nullptr) {
        call.stats->rx_bytes += receive_all(d, packets, count, back, call);
    } else {
        const uint32_t shown = unlikely(d.greeter != nullptr) ? hear_first(d, packets, count, back, call) : count;
        const uint32_t passed = likely(shown > 0) ? handle_packets(d, packets, shown, back, call) : 0;
        if (passed > 0) receive_all(d, d.passed.data(), passed, back, call);
    }
    if (back.count > 0) handover_put(*d.forwards, back.count);
    handover_consume(*d.received, count);
    return {count, false};
}

}  // namespace wt
