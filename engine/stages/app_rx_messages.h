// What app_rx of a server does with whole messages, whoever makes the bodies of its responses.
//
// The functions are static and not inline, so that the compiler weighs them as those of each file.
#pragma once

#include "core/mbufs.h"
#include "stages/app_rx_server.h"

namespace wt {

static void make_ready(application &a, void *const *packets, uint32_t count, const message_header &h) {
    server_responding &s = *a.responding;
    const uint32_t first = s.ready.empty() ? 0 : s.ready.back().first + s.ready.back().segments;
    for (uint32_t i = 0; i < count; i++) s.requests[first + i] = static_cast<rte_mbuf *>(packets[i]);
    const segmentation response =
        unlikely(s.sizes.has_value())
            ? segmentation_into(size_next(*s.sizes) - message_header_bytes, a.response.segment_body)
            : a.response;
    s.ready.push_back({first, count, h, response});
}

static void free_superseded(const superseded &old, const stage_call &call) {
    for (uint32_t i = 0; i < old.places; i++)
        if (old.packets[i] != nullptr)
            drop_packet(static_cast<rte_mbuf *>(old.packets[i]), drop::superseded, call);
}

// Takes one segment: either a complete request, or a part of one that waits for the others.
static void take_segment(application &a, rte_mbuf *m, const stage_call &call) {
    server_responding &s = *a.responding;
    const uint8_t *header = message_of(m);
    const message_header h = message_header_read(header);
    if (a.request.segments == 1) {
        if (!is_single_segment(m, header, single_segment_range(a)))
            return drop_packet(m, single_segment_fault(header), call);
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

static uint32_t take_requests(application &a, const stage_call &call) {
    server_responding &s = *a.responding;
    s.ready.clear();
    s.ready_head = 0;
    const uint32_t count = take_burst(a);
    for (uint32_t i = 0; i < count; i++) {
        if (i + 4 < count) prefetch_message(s.packets[i + 4]);
        take_segment(a, s.packets[i], call);
    }
    return count;
}

// How many of the request's mbufs its response reuses.
static uint32_t reused_by(const application &a, const ready_request &r) {
    return a.responding->in_request ? std::min(r.segments, r.response.segments) : 0;
}

// New mbufs that the responses to the next `count` ready requests need.
static uint32_t fresh_for(const application &a, uint32_t count) {
    const ready_request *r = a.responding->ready.data() + a.responding->ready_head;
    uint32_t fresh = 0;
    for (uint32_t i = 0; i < count; i++) fresh += r[i].response.segments - reused_by(a, r[i]);
    return fresh;
}

// Takes new mbufs for as many ready requests as possible; returns how many. 0: the pool is empty.
static uint32_t take_mbufs(application &a) {
    server_responding &s = *a.responding;
    const uint32_t waiting = static_cast<uint32_t>(s.ready.size()) - s.ready_head;
    const uint32_t most = std::min(waiting, std::max(1u, a.batch_rx / a.response.segments));
    const uint32_t fresh = fresh_for(a, most);
    if (fresh == 0 || mbufs_take(a.pool, s.fresh.data(), fresh)) return most;
    return most > 1 && mbufs_take(a.pool, s.fresh.data(), fresh_for(a, 1)) ? 1 : 0;
}

// Collects the packets of one response at `to`: first reused ones of the request, then new ones, which get
// the request's frame header.
static void lay_out_response(const application &a, const ready_request &request, rte_mbuf **own,
                             rte_mbuf **&fresh, rte_mbuf **to) {
    const uint8_t *frame = frame_of(own[0]);
    const uint32_t reused = reused_by(a, request), ahead = a.responding->header_bytes_ahead;
    for (uint32_t i = 0; i < request.response.segments; i++) {
        const bool is_fresh = i >= reused;
        rte_mbuf *m = is_fresh ? *fresh++ : own[i];
        if (is_fresh) {
            rte_memcpy(frame_of(m), frame, frame_header_bytes);
            if (unlikely(ahead > 0)) std::memcpy(frame_of(m) - ahead, frame - ahead, ahead);
        }
        to[i] = m;
    }
}

// Builds the handler's view of one request, and of its response, whose packets are at `to`. Advances both
// lists of segments.
static wt_exchange build_view(const ready_request &r, rte_mbuf **own, rte_mbuf **to, wt_segment *&request,
                              wt_segment *&response) {
    wt_exchange x{};
    x.request = {request, r.segments, 0};
    for (uint32_t j = 0; j < r.segments; j++) {
        *request++ = {rte_pktmbuf_mtod_offset(own[j], uint8_t *, body_offset), body_bytes(own[j])};
        x.request.length += body_bytes(own[j]);
    }
    x.response = {response, r.response.segments, r.response.body_bytes};
    for (uint32_t j = 0; j < r.response.segments; j++)
        *response++ = {rte_pktmbuf_mtod_offset(to[j], uint8_t *, body_offset),
                       segment_body_bytes(r.response, j)};
    return x;
}

// Builds the views of the next `count` ready requests and collects the packets of their responses in the
// outbox.
static void build_views(application &a, uint32_t count) {
    server_responding &s = *a.responding;
    wt_segment *request = s.request_views.data(), *response = s.response_views.data();
    rte_mbuf **fresh = s.fresh.data();
    for (uint32_t i = 0; i < count; i++) {
        const ready_request &r = s.ready[s.ready_head + i];
        rte_mbuf **own = s.requests.data() + r.first,
                 **to = a.out.packets.data() + size_t{i} * a.response.segments;
        lay_out_response(a, r, own, fresh, to);
        wt_exchange &x = s.exchanges[i];
        x = build_view(r, own, to, request, response);
        x.workload = a.workload;
        x.flags = s.in_request ? WT_RESPONSE_IN_REQUEST : 0;
    }
}

// Writes headers and lengths of one response after the handler's call. Moves its packets to `to`, frees those
// that it does not need, and returns how many it has.
static uint32_t finish_response(application &a, uint32_t which, rte_mbuf **laid_out, rte_mbuf **to,
                                const stage_call &call) {
    server_responding &s = *a.responding;
    const ready_request &r = s.ready[s.ready_head + which];
    const wt_exchange &x = s.exchanges[which];
    const bool silent = x.flags & WT_NO_RESPONSE;
    const uint32_t length = std::min(x.response.length, r.response.body_bytes);
    const uint32_t full = r.response.segment_body;
    const uint32_t segments = silent ? 0 : std::max(1u, (length + full - 1) / full);
    if (silent) count_drop(call, drop::without_response, r.segments);

    for (uint32_t i = 0; i < r.response.segments; i++) {
        rte_mbuf *m = laid_out[i];
        if (i >= segments) {
            rte_pktmbuf_free(m);
            continue;
        }
        message_header h = r.header;
        h.kind = message_kind::response;
        h.segment = static_cast<uint16_t>(i);
        h.segments = static_cast<uint16_t>(segments);
        message_header_write(message_of(m), h);
        set_length(m, body_offset + (i + 1 < segments ? full : length - i * full));
        to[i] = m;
    }
    for (uint32_t i = reused_by(a, r); i < r.segments; i++) rte_pktmbuf_free(s.requests[r.first + i]);
    return segments;
}

}  // namespace wt
