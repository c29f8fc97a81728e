// app_rx of a server: puts requests together, shows them to the message handler, sends the answers on their way.
//
// A request waits as "ready" until there are mbufs for its answer; nothing new is dequeued while one waits, so want of
// mbufs or of room in the ring pushes back to the port instead of growing a queue here. Where a request and its answer are
// one segment in one mbuf, nothing can be wanting: the short way at the end of this file.
#include <rte_pause.h>

#include "stages/roles.h"

namespace wt {

namespace {

void make_ready(application &a, void *const *packets, uint32_t count, const message_header &h) {
    server_answering &s = *a.answering;
    const uint32_t first = s.ready.empty() ? 0 : s.ready.back().first + s.ready.back().segments;
    for (uint32_t i = 0; i < count; i++) s.requests[first + i] = static_cast<rte_mbuf *>(packets[i]);
    const segmentation answer =
        unlikely(s.sizes.has_value()) ? segmentation_into(size_next(*s.sizes) - message_header_bytes, a.answer.segment_body) : a.answer;
    s.ready.push_back({first, count, h, answer});
}

uint32_t body_bytes(const rte_mbuf *m) { return m->pkt_len - body_offset; }

void drop_packet(rte_mbuf *m, drop why, const stage_call &call) {
    count_drop(call, why);
    rte_pktmbuf_free(m);
}

void free_superseded(const superseded &old, const stage_call &call) {
    for (uint32_t i = 0; i < old.places; i++)
        if (old.packets[i] != nullptr) drop_packet(static_cast<rte_mbuf *>(old.packets[i]), drop::superseded, call);
}

// Body bytes of a request of one segment: from `least` on, `more` at the most.
struct body_range {
    uint32_t least, more;
};

body_range requests_alone(const application &a) {
    const uint32_t largest = a.request.body_bytes;
    return a.answering->requests_vary ? body_range{0, largest} : body_range{largest, 0};
}

// Whether a packet is the whole of a request of one segment.
bool is_alone(const rte_mbuf *m, const uint8_t *message, const body_range &right) {
    return likely(message_is_one_segment(message) && body_bytes(m) - right.least <= right.more);
}

// What is wrong with a packet that is not.
drop why_not_alone(const uint8_t *message) {
    const message_header h = message_header_read(message);
    if (h.segments != 1) return drop::bad_segment_count;
    return h.segment != 0 ? drop::bad_segment_index : drop::bad_segment_length;
}

// One segment of a request: alone it is the request, else it waits for the others.
void take_segment(application &a, rte_mbuf *m, const stage_call &call) {
    server_answering &s = *a.answering;
    const uint8_t *header = rte_pktmbuf_mtod_offset(m, const uint8_t *, message_offset);
    const message_header h = message_header_read(header);
    if (a.request.segments == 1) {
        if (!is_alone(m, header, requests_alone(a))) return drop_packet(m, why_not_alone(header), call);
        void *packet = m;
        return make_ready(a, &packet, 1, h);
    }
    drop why;
    assembly *message;
    superseded old{};
    const assembled result = assemble(*s.parts, m, h, body_bytes(m), &message, &old, &why);
    free_superseded(old, call);
    if (result == assembled::dropped) return drop_packet(m, why, call);
    if (result == assembled::complete) make_ready(a, message->packets, message->segments, h);
}

// Takes a burst from the rings, one link a call: the answers go back the same way.
uint32_t take_burst(application &a) {
    server_answering &s = *a.answering;
    uint32_t count = 0;
    for (size_t i = 0; i < a.links.size() && count == 0; i++) {
        a.out.towards = a.links[a.next_link];
        count = a.out.towards->to_application->take(s.packets.data(), a.batch_rx);
        if (++a.next_link == a.links.size()) a.next_link = 0;
    }
    return count;
}

void prefetch_message(rte_mbuf *m) { rte_prefetch0(rte_pktmbuf_mtod_offset(m, void *, message_offset)); }

uint32_t take_requests(application &a, const stage_call &call) {
    server_answering &s = *a.answering;
    s.ready.clear();
    s.ready_head = 0;
    const uint32_t count = take_burst(a);
    for (uint32_t i = 0; i < count; i++) {
        if (i + 4 < count) prefetch_message(s.packets[i + 4]);
        take_segment(a, s.packets[i], call);
    }
    return count;
}

// The handler's work, and the scenario's extra ticks on top.
void run_handler(application &a, uint32_t count) {
    a.handler->message(a.handler_state, a.answering->exchanges.data(), count);
    if (likely(a.answering->extra_ticks == 0)) return;
    const uint64_t until = now() + a.answering->extra_ticks * count;
    while (static_cast<int64_t>(until - now()) > 0) rte_pause();
}

// Packets of the request that carry its answer.
uint32_t reused_by(const application &a, const ready_request &r) {
    return a.answering->in_request ? std::min(r.segments, r.answer.segments) : 0;
}

// Mbufs that the answers to `count` ready requests need beside those of the requests.
uint32_t fresh_for(const application &a, uint32_t count) {
    const ready_request *r = a.answering->ready.data() + a.answering->ready_head;
    uint32_t fresh = 0;
    for (uint32_t i = 0; i < count; i++) fresh += r[i].answer.segments - reused_by(a, r[i]);
    return fresh;
}

// How many of the ready requests can be answered now, with their fresh mbufs taken; 0 where the pool is empty.
uint32_t take_mbufs(application &a) {
    server_answering &s = *a.answering;
    const uint32_t waiting = static_cast<uint32_t>(s.ready.size()) - s.ready_head;
    const uint32_t most = std::min(waiting, std::max(1u, a.batch_rx / a.answer.segments));
    const uint32_t fresh = fresh_for(a, most);
    if (fresh == 0 || mbufs_take(a.pool, s.fresh.data(), fresh)) return most;
    return most > 1 && mbufs_take(a.pool, s.fresh.data(), fresh_for(a, 1)) ? 1 : 0;
}

// Lays out one answer's packets at `to`: the request's own first (or none), then fresh ones with the request's frame header.
void lay_out_answer(const application &a, const ready_request &request, rte_mbuf **own, rte_mbuf **&fresh, rte_mbuf **to) {
    const uint8_t *frame = rte_pktmbuf_mtod(own[0], const uint8_t *);
    const uint32_t reused = reused_by(a, request);
    for (uint32_t i = 0; i < request.answer.segments; i++) {
        const bool is_fresh = i >= reused;
        rte_mbuf *m = is_fresh ? *fresh++ : own[i];
        if (is_fresh) rte_memcpy(rte_pktmbuf_mtod(m, uint8_t *), frame, frame_header_bytes);
        to[i] = m;
    }
}

// Makes the handler's views of `count` ready requests, with the room for their answers at out.packets.
void show_ready(application &a, uint32_t count) {
    server_answering &s = *a.answering;
    wt_segment *request = s.request_views.data(), *answer = s.answer_views.data();
    rte_mbuf **fresh = s.fresh.data();
    for (uint32_t i = 0; i < count; i++) {
        const ready_request &r = s.ready[s.ready_head + i];
        rte_mbuf **own = s.requests.data() + r.first, **to = a.out.packets.data() + size_t{i} * a.answer.segments;
        lay_out_answer(a, r, own, fresh, to);
        wt_exchange &x = s.exchanges[i];
        x.request = {request, r.segments, 0};
        for (uint32_t j = 0; j < r.segments; j++) {
            *request++ = {rte_pktmbuf_mtod_offset(own[j], uint8_t *, body_offset), body_bytes(own[j])};
            x.request.length += body_bytes(own[j]);
        }
        x.answer = {answer, r.answer.segments, r.answer.body_bytes};
        for (uint32_t j = 0; j < r.answer.segments; j++)
            *answer++ = {rte_pktmbuf_mtod_offset(to[j], uint8_t *, body_offset), segment_body_bytes(r.answer, j)};
        x.workload = a.workload;
        x.flags = s.in_request ? WT_ANSWER_IN_REQUEST : 0;
    }
}

// Headers and lengths of one answer as the handler left it. Returns its packets, which stand at `to`; frees what it does not need.
uint32_t finish_answer(application &a, uint32_t which, rte_mbuf **laid_out, rte_mbuf **to, const stage_call &call) {
    server_answering &s = *a.answering;
    const ready_request &r = s.ready[s.ready_head + which];
    const wt_exchange &x = s.exchanges[which];
    const bool silent = x.flags & WT_NO_ANSWER;
    const uint32_t length = std::min(x.answer.length, r.answer.body_bytes);
    const uint32_t full = r.answer.segment_body;
    const uint32_t segments = silent ? 0 : std::max(1u, (length + full - 1) / full);
    if (silent) count_drop(call, drop::unanswered, r.segments);

    for (uint32_t i = 0; i < r.answer.segments; i++) {
        rte_mbuf *m = laid_out[i];
        if (i >= segments) {
            rte_pktmbuf_free(m);
            continue;
        }
        message_header h = r.header;
        h.kind = message_kind::answer;
        h.segment = static_cast<uint16_t>(i);
        h.segments = static_cast<uint16_t>(segments);
        message_header_write(rte_pktmbuf_mtod_offset(m, uint8_t *, message_offset), h);
        m->data_len = static_cast<uint16_t>(body_offset + (i + 1 < segments ? full : length - i * full));
        m->pkt_len = m->data_len;
        to[i] = m;
    }
    for (uint32_t i = reused_by(a, r); i < r.segments; i++) rte_pktmbuf_free(s.requests[r.first + i]);
    return segments;
}

// Answers as many ready requests as there are mbufs for. False where there are none.
bool answer(application &a, const stage_call &call) {
    server_answering &s = *a.answering;
    const uint32_t count = take_mbufs(a);
    if (unlikely(count == 0)) return false;
    show_ready(a, count);
    run_handler(a, count);
    rte_mbuf **packets = a.out.packets.data();
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++)
        used += finish_answer(a, i, packets + size_t{i} * a.answer.segments, packets + used, call);
    s.ready_head += count;
    a.out.head = 0;
    a.out.count = used;
    return true;
}

// The lengths of a request and of its answer, where they vary.
void show_sizes(application &a, wt_exchange &x, wt_segment &request, wt_segment &answer, const rte_mbuf *m) {
    server_answering &s = *a.answering;
    if (s.requests_vary) x.request.length = request.length = body_bytes(m);
    if (s.sizes) x.answer.length = answer.length = size_next(*s.sizes) - message_header_bytes;
}

// The short way. Views of the requests of one burst; returns how many there are. All that does not change stands in the views
// already (views_alone); of an exchange, which is the handler's to write to, a fresh copy is made.
template <bool sizes_vary>
uint32_t show_alone(application &a, uint32_t count, const stage_call &call) {
    server_answering &s = *a.answering;
    rte_mbuf **const packets = s.packets.data(), **const kept = a.out.packets.data();
    wt_segment *const requests = s.request_views.data(), *const answers = s.answer_views.data();
    wt_exchange *const exchanges = s.exchanges.data();
    const wt_exchange *const fresh = s.exchanges_alone.data();
    const body_range right = requests_alone(a);
    uint32_t shown = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i + 4 < count) prefetch_message(packets[i + 4]);
        rte_mbuf *m = packets[i];
        uint8_t *message = rte_pktmbuf_mtod_offset(m, uint8_t *, message_offset);
        if (unlikely(!is_alone(m, message, right))) {
            drop_packet(m, why_not_alone(message), call);
            continue;
        }
        requests[shown].data = answers[shown].data = message + message_header_bytes;
        exchanges[shown] = fresh[shown];
        if constexpr (sizes_vary) show_sizes(a, exchanges[shown], requests[shown], answers[shown], m);
        kept[shown++] = m;
    }
    return shown;
}

// Turns requests into answers where they are: another kind, another length.
uint32_t finish_alone(application &a, uint32_t count, const stage_call &call) {
    rte_mbuf **const packets = a.out.packets.data();
    const wt_exchange *const exchanges = a.answering->exchanges.data();
    const uint32_t most = a.answer.body_bytes;
    uint32_t answers = 0;
    for (uint32_t i = 0; i < count; i++) {
        rte_mbuf *m = packets[i];
        const wt_exchange &x = exchanges[i];
        if (unlikely(x.flags & WT_NO_ANSWER)) {
            drop_packet(m, drop::unanswered, call);
            continue;
        }
        const uint32_t length = body_offset + std::min(x.answer.length, most);
        *rte_pktmbuf_mtod_offset(m, message_kind *, message_offset) = message_kind::answer;
        m->data_len = static_cast<uint16_t>(length);
        m->pkt_len = length;
        packets[answers++] = m;
    }
    return answers;
}

call_result answer_alone(application &a, const stage_call &call) {
    const uint32_t count = take_burst(a);
    if (count == 0) return {0, false};
    const bool sizes_vary = a.answering->requests_vary || a.answering->sizes;
    const uint32_t shown = unlikely(sizes_vary) ? show_alone<true>(a, count, call) : show_alone<false>(a, count, call);
    if (shown > 0) run_handler(a, shown);
    a.out.head = 0;
    a.out.count = finish_alone(a, shown, call);
    if (a.out.count > 0) outbox_flush(a.out, UINT32_MAX);
    return {count, false};
}

}  // namespace

void views_alone(application &a) {
    server_answering &s = *a.answering;
    for (wt_segment &view : s.request_views) view.length = a.request.body_bytes;
    for (wt_segment &view : s.answer_views) view.length = a.answer.body_bytes;
    s.exchanges_alone.resize(s.exchanges.size());
    for (size_t i = 0; i < s.exchanges.size(); i++)
        s.exchanges_alone[i] = {{&s.request_views[i], 1, a.request.body_bytes},
                                {&s.answer_views[i], 1, a.answer.body_bytes},
                                a.workload,
                                WT_ANSWER_IN_REQUEST};
}

call_result app_rx_requests(void *role, const stage_call &call) {
    application &a = *static_cast<application *>(role);
    server_answering &s = *a.answering;
    uint32_t moved = 0, taken = 0;
    if (a.out.count > 0) {
        moved = outbox_flush(a.out, UINT32_MAX);
        if (a.out.count > 0) return {std::min(moved, a.batch_rx), moved == 0};
    }
    if (s.alone) return answer_alone(a, call);
    if (s.ready_head == s.ready.size()) taken = take_requests(a, call);
    while (s.ready_head < s.ready.size()) {
        if (!answer(a, call)) break;
        moved += outbox_flush(a.out, UINT32_MAX);
        if (a.out.count > 0) break;
    }
    const bool waiting = s.ready_head < s.ready.size() || a.out.count > 0;
    const uint32_t objects = taken > 0 ? taken : std::min(moved, a.batch_rx);
    return {objects, waiting && objects == 0};
}

}  // namespace wt
