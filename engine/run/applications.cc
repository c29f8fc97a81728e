// From the plan's applications to what app_tx and app_rx work with.
#include <algorithm>

#include "core/frame_ipv6.h"
#include "core/inflight.h"
#include "core/unguessable.h"
#include "parts/registry.h"
#include "run/endpoints.h"
#include "run/seed.h"
#include "run/variants.h"
#include "stages/client_state.h"
#include "stages/server_state.h"
#include "stages/stages.h"
#include "wires/wire.h"

namespace wt {

namespace {

segmentation shape_of(uint32_t message_bytes, const endpoint_plan &e) {
    return segmentation_of(message_bytes, e.mtu - ip_udp_bytes(e.ip));
}

// Body bytes that differ, so that a copy or a scan reads real content.
line_vector<uint8_t> pattern_of(uint32_t bytes, uint64_t seed) {
    line_vector<uint8_t> pattern(bytes);
    for (uint8_t &b : pattern) b = static_cast<uint8_t>(random_next(&seed));
    return pattern;
}

// Each application draws sizes of its own, the same on every repeat.
std::optional<size_cursor> sizes_of(run_state &f, const std::optional<sizes_plan> &plan, chance what,
                                    const application &a) {
    if (!plan) return {};
    return size_cursor{&f.size_tables.emplace_back(plan->kind, plan->bytes, plan->weights),
                       seed_of(f.plan.seed, what, a.index), 0};
}

void open_client(run_state &f, application &a, const endpoint &e, const workload_plan &w) {
    const auto sizes = sizes_of(f, w.request_sizes, chance::request_sizes, a);
    const uint32_t messages = messages_at_once(a, sizes.has_value());
    open_sending(f, a, e, w, messages);
    client_sending &s = *a.sending;
    s.sizes = sizes;
    a.out.packets.resize(s.sizes ? packets_at_once(a) : messages * a.request.segments);
    s.shapes.resize(s.sizes ? messages : 0);
    s.pattern = pattern_of(message_header_bytes + std::min(a.request.segment_body, a.request.body_bytes),
                           f.plan.seed + a.index);
    s.names.resize(messages);
    s.segments.resize(a.out.packets.size());
    s.views.resize(messages);
    a.receiving->packets.resize(a.batch_rx);
}

void open_server(run_state &f, application &a, const endpoint_plan &e, const workload_plan &w) {
    auto &s = *(a.responding = std::make_unique<server_responding>());
    s.in_request = e.response_mbuf == response_mbuf::request;
    s.in_place = s.in_request && a.request.segments == 1 && a.response.segments == 1;
    s.requests_vary = w.request_sizes.has_value();
    s.header_bytes_ahead = e.ip.is_v6 ? ipv6_more_bytes : 0;
    s.sizes = sizes_of(f, w.response_sizes, chance::response_sizes, a);
    s.extra_ticks = w.extra_ticks;
    const uint32_t at_once = std::max(1u, a.batch_rx / a.response.segments);
    a.out.packets.resize(size_t{at_once} * a.response.segments);
    s.packets.resize(a.batch_rx);
    s.requests.resize(size_t{a.batch_rx} * a.request.segments);
    s.ready.reserve(a.batch_rx);
    s.fresh.resize(a.out.packets.size());
    s.request_views.resize(size_t{at_once} * a.request.segments);
    s.response_views.resize(a.out.packets.size());
    s.exchanges.resize(at_once);
    if (s.in_place) prepare_in_place(a);
    if (a.request.segments > 1)
        s.parts =
            std::make_unique<assembler>(w.client_applications, w.client_slots, a.request, s.requests_vary);
}

// Unguessable if the wire leads out of this process. On one that does not, equal seeds make equal frames.
uint32_t first_generation(const port &p) {
    constexpr uint32_t even_and_far_from_the_last = 0x7ffffffe;
    return has(*p.wire, WT_WIRE_TOGETHER) ? 0 : unguessable() & even_and_far_from_the_last;
}

}  // namespace

application::application() = default;
application::~application() = default;

uint32_t messages_at_once(const application &a, bool sizes_vary) {
    return sizes_vary ? a.batch_tx : std::max(1u, a.batch_tx / a.request.segments);
}

void open_sending(run_state &f, application &a, const endpoint &e, const workload_plan &w, uint32_t at_once) {
    a.inflight = std::make_unique<inflight_table>("slots" + std::to_string(a.index),
                                                  largest_inflight(f.plan, *e.plan, a.index),
                                                  a.response.segments, first_generation(*e.port));
    auto &s = *(a.sending = std::make_unique<client_sending>());
    s.signals = &f.signals;
    s.tick_mult = static_cast<uint64_t>(f.clock.ns_per_tick * 0x1p32);
    s.at_once = at_once;
    s.open_loop = w.load->mode == load_mode::open;
    if (s.open_loop) open_load(f, w, *e.plan, a, s);
    s.slots.resize(at_once);
    s.intended.resize(at_once);

    auto &r = *(a.receiving = std::make_unique<client_receiving>());
    r.timeout = static_cast<uint64_t>(static_cast<double>(w.timeout_ns) / f.clock.ns_per_tick);
    r.tick_mult = s.tick_mult;
    r.retired.resize(a.batch_rx);
    if (f.plan.raw_latency) {
        r.raw_limit = f.plan.raw_latency->limit;
        r.raw.reserve(r.raw_limit);
    }
}

void open_applications(run_state &f, endpoint &e, uint32_t endpoint_index) {
    const endpoint_plan &ep = *e.plan;
    const batch_plan batch = largest_batch(f.plan, ep);
    for (uint32_t i = 0; i < ep.applications.size(); i++) {
        const application_plan &plan = ep.applications[i];
        const workload_plan &w = f.plan.workloads[plan.workload];
        auto &a = *e.applications.emplace_back(std::make_unique<application>());
        a.index = static_cast<uint16_t>(i);
        a.workload = static_cast<uint8_t>(plan.workload);
        a.pool = e.pool;
        a.batch_tx = batch.app_tx;
        a.batch_rx = batch.app_rx;
        a.request = shape_of(w.request_bytes, ep);
        a.response = shape_of(w.response_bytes, ep);
        if (const auto use = handler_of_application(f.plan, endpoint_index, i))
            a.handler = open_handler(f, *use, &a.handler_state, &a.steps);
        if (ask_parts(&part::open_application, f, a, e, w)) continue;
        if (ep.side == side::client)
            open_client(f, a, e, w);
        else
            open_server(f, a, ep, w);
    }
}

}  // namespace wt
