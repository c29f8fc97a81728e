// From the plan's lists to applications, dispatchers, their rings and their handlers.
#include <rte_lcore.h>

#include <algorithm>
#include <limits>

#include "core/refusal.h"
#include "flight/flight.h"
#include "ports/timed_capture.h"

namespace wt {

namespace {

constexpr uint32_t kind_index(stage_kind k) { return static_cast<uint32_t>(k); }

segmentation shape_of(uint32_t message_bytes, const endpoint_plan &e) {
    return segmentation_of(message_bytes, e.mtu - ip_udp_header_bytes);
}

// The worker that runs a stage of an endpoint, -1 where none does.
int worker_of(const plan &p, uint32_t endpoint, stage_kind stage, uint32_t index) {
    for (size_t w = 0; w < p.workers.size(); w++)
        for (const stage_of &s : p.workers[w].stages)
            if (s.endpoint == endpoint && s.stage == stage && s.index == index) return static_cast<int>(w);
    return -1;
}

int socket_of(const plan &p, const stage_of &s) {
    const int worker = worker_of(p, s.endpoint, s.stage, s.index);
    return worker < 0 ? -1 : static_cast<int>(rte_lcore_to_socket_id(p.workers[static_cast<size_t>(worker)].lcore));
}

// Opens a handler for one application or dispatcher; null on a client whose handler has nothing to say to requests.
const wt_handler *open_for(flight &f, const handler_plan &h, wt_kind kind, const stage_of &runs_in, uint32_t workload,
                           void **state) {
    const endpoint_plan &e = f.plan.endpoints[runs_in.endpoint];
    const workload_plan &w = f.plan.workloads[workload];
    f.lines.phase("opening " + h.name);
    handler_table table = handler_named(kind, h.name);
    const bool is_client = e.side == side::client;
    if (is_client && table->request == nullptr) return nullptr;
    wt_open open{};
    open.role = is_client ? WT_CLIENT : WT_SERVER;
    open.index = runs_in.index;
    open.workload = workload;
    open.request_length = w.request_bytes - message_header_bytes;
    open.answer_length = w.response_bytes - message_header_bytes;
    open.scan = w.scan;
    open.numa_socket = socket_of(f.plan, runs_in);
    open.seed = f.plan.seed + runs_in.index;
    const opened_handler &opened = f.handlers.emplace_back(std::move(table), open, h.options);
    *state = opened.state();
    return &opened.table();
}

// Body bytes that are not all alike, so that a copy or a scan has something to see.
std::vector<uint8_t> pattern_of(uint32_t bytes, uint64_t seed) {
    std::vector<uint8_t> pattern(bytes);
    for (uint8_t &b : pattern) b = static_cast<uint8_t>(random_next(&seed));
    return pattern;
}

// The load of one of `alike` applications of a workload, in ticks. Throws refusal for a rate that the clock cannot pace.
arrival_phases phases_of(const flight &f, const workload_plan &w, double alike) {
    const double infinity = std::numeric_limits<double>::infinity();
    const auto ticks = [&](std::optional<uint64_t> ns, double none) {
        return ns ? static_cast<double>(*ns) / f.clock.ns_per_tick : none;
    };
    arrival_phases phases{{}, w.load->lead};
    for (const load_phase_plan &p : w.load->phases) {
        const double interval = p.rate_per_s > 0 ? alike * 1e9 / f.clock.ns_per_tick / p.rate_per_s : infinity;
        if (interval < 1)
            throw refusal("workload " + w.name + ": " + std::to_string(p.rate_per_s) +
                              " messages a second cannot be paced by a clock of " + std::to_string(1e9 / f.clock.ns_per_tick) + " Hz",
                          "a lower rate, or more applications");
        phases.list.push_back({ticks(p.length_ns, infinity), interval, ticks(p.on_ns, infinity), ticks(p.off_ns, 0),
                               p.arrivals == arrivals::poisson});
    }
    return phases;
}

// Which of the applications of its workload this one is, and of how many.
std::pair<uint32_t, uint32_t> among_alike(const endpoint_plan &e, const application &a) {
    const auto is_alike = [&](const application_plan &o) { return o.workload == a.workload; };
    return {std::count_if(e.applications.begin(), e.applications.begin() + a.index, is_alike),
            std::count_if(e.applications.begin(), e.applications.end(), is_alike)};
}

void open_load(const flight &f, const workload_plan &w, const endpoint_plan &e, const application &a, client_sending &s) {
    const auto [which, alike] = among_alike(e, a);
    s.phases = phases_of(f, w, alike);
    // Constant arrivals of several applications interleave instead of falling together.
    s.due = s.next = arrival_cursor_at_start(s.phases, (which + 1.0) / alike, f.plan.seed * 0x9e3779b97f4a7c15 + a.index);
}

// Each application draws sizes of its own, the same on every repeat.
std::optional<size_cursor> sizes_of(flight &f, const std::optional<sizes_plan> &plan, const application &a) {
    if (!plan) return {};
    uint64_t seed = f.plan.seed ^ uint64_t{a.index} << 32;
    const size_table &table = f.size_tables.emplace_back(*plan);
    return size_cursor{&table, random_next(&seed), 0};
}

void open_client(flight &f, application &a, const endpoint_plan &e, const application_plan &plan, const workload_plan &w) {
    // Messages of many sizes are as many as a batch of packets holds, and at least one of the largest.
    const uint32_t alike = std::max(1u, a.batch_tx / a.request.segments);
    const uint32_t messages = w.request_sizes ? a.batch_tx : alike;
    const uint32_t packets = w.request_sizes ? std::max(a.batch_tx, a.request.segments) : alike * a.request.segments;
    a.inflight = std::make_unique<inflight_table>("slots" + std::to_string(a.index), plan.inflight, a.answer.segments);
    a.out.packets.resize(packets);

    auto &s = *(a.sending = std::make_unique<client_sending>());
    s.signals = &f.signals;
    s.tick_mult = static_cast<uint64_t>(f.clock.ns_per_tick * 0x1p32);
    s.at_once = messages;
    s.sizes = sizes_of(f, w.request_sizes, a);
    s.shapes.resize(s.sizes ? messages : 0);
    s.open_loop = w.load->open;
    if (s.open_loop) open_load(f, w, e, a, s);
    s.pattern = pattern_of(message_header_bytes + std::min(a.request.segment_body, a.request.body_bytes), f.plan.seed + a.index);
    s.slots.resize(messages);
    s.names.resize(messages);
    s.intended.resize(messages);
    s.segments.resize(a.out.packets.size());
    s.views.resize(messages);

    auto &r = *(a.receiving = std::make_unique<client_receiving>());
    r.timeout = static_cast<uint64_t>(static_cast<double>(w.timeout_ns) / f.clock.ns_per_tick);
    r.tick_mult = s.tick_mult;
    r.packets.resize(a.batch_rx);
    r.retired.resize(a.batch_rx);
    if (f.plan.raw_latency) {
        r.raw_limit = f.plan.raw_latency->limit;
        r.raw.reserve(r.raw_limit);
    }
}

void open_server(flight &f, application &a, const endpoint_plan &e, const workload_plan &w) {
    auto &s = *(a.answering = std::make_unique<server_answering>());
    s.in_request = e.answer_in_request;
    s.alone = s.in_request && a.request.segments == 1 && a.answer.segments == 1;
    s.requests_vary = w.request_sizes.has_value();
    s.sizes = sizes_of(f, w.response_sizes, a);
    s.extra_ticks = w.extra_ticks;
    const uint32_t at_once = std::max(1u, a.batch_rx / a.answer.segments);
    a.out.packets.resize(size_t{at_once} * a.answer.segments);
    s.packets.resize(a.batch_rx);
    s.requests.resize(size_t{a.batch_rx} * a.request.segments);
    s.ready.reserve(a.batch_rx);
    s.fresh.resize(a.out.packets.size());
    s.request_views.resize(size_t{at_once} * a.request.segments);
    s.answer_views.resize(a.out.packets.size());
    s.exchanges.resize(at_once);
    if (s.alone) views_alone(a);
    if (a.request.segments > 1)
        s.parts = std::make_unique<assembler>(w.client_applications, w.client_slots, a.request, s.requests_vary);
}

void open_applications(flight &f, endpoint &e, uint32_t endpoint_index) {
    const endpoint_plan &ep = *e.plan;
    for (uint32_t i = 0; i < ep.applications.size(); i++) {
        const application_plan &plan = ep.applications[i];
        const workload_plan &w = f.plan.workloads[plan.workload];
        auto &a = *e.applications.emplace_back(std::make_unique<application>());
        a.index = static_cast<uint16_t>(i);
        a.workload = static_cast<uint8_t>(plan.workload);
        a.pool = e.pool;
        a.batch_tx = ep.batch[kind_index(stage_kind::app_tx)];
        a.batch_rx = ep.batch[kind_index(stage_kind::app_rx)];
        a.request = shape_of(w.request_bytes, ep);
        a.answer = shape_of(w.response_bytes, ep);
        const stage_of handled_in = {endpoint_index, ep.side == side::client ? stage_kind::app_tx : stage_kind::app_rx, i};
        if (w.handler) a.handler = open_for(f, *w.handler, WT_MESSAGE_HANDLER, handled_in, plan.workload, &a.handler_state);
        if (ep.side == side::client)
            open_client(f, a, ep, plan, w);
        else
            open_server(f, a, ep, w);
    }
}

// What the messages look like that a dispatcher brings to its only application: requests of any client, or answers to this one.
message_match what_comes_to(const application &a, const dispatcher &d) {
    if (d.side == side::client) return message_match_of(message_kind::answer, d.workload, a.index);
    if (!d.workload_has_messages) return no_message_matches;
    return message_match_of(message_kind::request, d.workload, {});
}

// Two rings for every pair of an application and a dispatcher that work together.
void link_up(flight &f, endpoint &e) {
    const std::string name = side_names[static_cast<int>(e.plan->side)];
    for (auto &a : e.applications) {
        for (uint32_t index : e.plan->applications[a->index].dispatchers) {
            dispatcher &d = *e.dispatchers[index];
            const std::string pair = name + ".app" + std::to_string(a->index) + ".disp" + std::to_string(index);
            link &l = *f.links.emplace_back(std::make_unique<link>());
            l.to_dispatcher = std::make_unique<packet_ring>(pair + ".tx", e.plan->ring_size);
            l.to_application = std::make_unique<packet_ring>(pair + ".rx", e.plan->ring_size);
            a->links.push_back(&l);
            d.link_of.resize(e.applications.size(), no_link);
            d.link_of[a->index] = static_cast<uint16_t>(d.links.size());
            d.links.push_back(&l);
            d.applications.push_back(a.get());
            d.sorted.emplace_back(d.batch_rx);
            d.only_link = d.links.size() == 1 ? what_comes_to(*a, d) : no_message_matches;
            if (d.links.size() > max_links)
                throw refusal(name + " dispatcher " + std::to_string(index) + " serves more than " +
                                  std::to_string(max_links) + " applications", "use more dispatchers");
        }
    }
}

std::unique_ptr<handover> open_handover(const flight &f, uint32_t endpoint, const dispatcher &d, stage_kind from, stage_kind to,
                                        uint32_t capacity) {
    const int producer = worker_of(f.plan, endpoint, from, d.index), consumer = worker_of(f.plan, endpoint, to, d.index);
    const std::string name = std::string(side_names[static_cast<int>(d.side)]) + "." + stage_names[kind_index(from)] +
                             std::to_string(d.index);
    return std::make_unique<handover>(name, capacity, producer >= 0 && consumer >= 0 && producer != consumer,
                                      f.plan.endpoints[endpoint].ring_size);
}

void open_handovers(const flight &f, uint32_t endpoint, dispatcher &d) {
    const uint32_t tx = std::max({d.batch_tx, d.post_tx, d.batch_rx});
    d.received = open_handover(f, endpoint, d, stage_kind::nic_rx, stage_kind::disp_rx, std::max(d.post_rx, d.batch_rx));
    d.sending = open_handover(f, endpoint, d, stage_kind::disp_tx, stage_kind::nic_tx, tx);
    auto replies = open_handover(f, endpoint, d, stage_kind::disp_rx, stage_kind::nic_tx, tx);
    d.forwards = d.sending.get();
    // On one worker, replies and answers share the array and leave in one burst. Two producers on two workers cannot.
    if (!replies->ring && !d.sending->ring) return;
    d.replies = std::move(replies);
    d.forwards = d.replies.get();
}

flow flow_of(const endpoint_plan &e, uint16_t queue, const mac_address &peer) {
    return {e.mac, peer, e.ip, *e.peer_ip, static_cast<uint16_t>(e.udp_port + queue), static_cast<uint16_t>(*e.peer_udp_port + queue)};
}

void prepare_headers(dispatcher &d, const endpoint_plan &e, const mac_address &peer) {
    d.headers.fill(frame_prepare(flow_of(e, d.queue, peer)));
    frame_resize(d.headers[0], e.mtu - ip_udp_header_bytes);
}

// `line`: of the emulated link that all dispatchers of the endpoint share; null where there is none.
void open_emulation(const flight &f, const endpoint_plan &e, dispatcher &d, emulated_line *line) {
    d.is_emulated = e.port.faults || line != nullptr;
    if (!d.is_emulated) return;
    d.wire_burst.resize(size_t{2} * d.post_tx + 64 * 2);
    if (e.port.faults) {
        d.emulated = std::make_unique<faults>();
        faults_init(*d.emulated, *e.port.faults, f.plan.seed * 64 + d.queue * 2 + (e.side == side::client), d.pool);
    }
    if (line != nullptr) {
        uint32_t mbufs = 0;
        for (const endpoint_plan &any : f.plan.endpoints) mbufs += any.pool.size;
        d.let_through.resize(d.wire_burst.size());
        d.link_ahead = std::make_unique<emulated_link>(*e.port.link, line, f.clock.ns_per_tick, mbufs);
    }
}

// The frames of the port's capture that enter on the dispatcher's queue.
void open_pace(const flight &f, const endpoint &e, dispatcher &d) {
    if (!e.port->paced) return;
    const timed_capture &all = *e.port->paced;
    auto &p = *(d.paced = std::make_unique<paced_frames>());
    p.signals = &f.signals;
    p.bytes = all.bytes.data();
    p.times.round_ns = all.round_ns;
    p.times.ticks_per_ns = 1 / f.clock.ns_per_tick;
    p.tick_mult = static_cast<uint64_t>(f.clock.ns_per_tick * 0x1p32);
    p.late.clear();
    for (const timed_frame &frame : all.queues[d.queue]) {
        p.times.due_ns.push_back(frame.due_ns);
        p.frames.emplace_back(frame.at, frame.bytes);
    }
}

void open_dispatchers(flight &f, endpoint &e, uint32_t endpoint_index) {
    const endpoint_plan &ep = *e.plan;
    emulated_line *const line = ep.port.link ? &f.lines_ahead.emplace_back(rte_rdtsc()) : nullptr;
    for (uint32_t i = 0; i < ep.dispatchers.size(); i++) {
        const dispatcher_plan &plan = ep.dispatchers[i];
        const workload_plan &w = f.plan.workloads[plan.workload];
        auto &d = *e.dispatchers.emplace_back(std::make_unique<dispatcher>());
        d.side = ep.side;
        d.index = static_cast<uint16_t>(i);
        d.port = e.port->id;
        d.queue = plan.queue;
        d.workload = static_cast<uint8_t>(plan.workload);
        d.batch_rx = ep.batch[kind_index(stage_kind::disp_rx)];
        d.batch_tx = ep.batch[kind_index(stage_kind::disp_tx)];
        d.post_rx = ep.batch[kind_index(stage_kind::nic_rx)];
        d.post_tx = ep.batch[kind_index(stage_kind::nic_tx)];
        d.checksum = ep.port.udp_checksum ? udp_checksum::whole : udp_checksum::none;
        d.us = {ep.mac, ep.ip, ep.udp_port, ep.port.queues, plan.queue};
        d.plain = plain_match_of(d.us);
        d.greeter = f.greeter.get();
        d.pool = e.pool;
        d.workload_has_messages = ep.side == side::client || w.handler.has_value();
        d.passed.resize(d.batch_rx);
        d.views.resize(d.batch_rx);
        if (ep.side == side::client) {
            d.resolver = &e.resolver;
            d.peer_ip = *ep.peer_ip;
            if (ep.peer_mac) prepare_headers(d, ep, *ep.peer_mac);
        } else if (w.packet_handler) {
            const stage_of handled_in = {endpoint_index, stage_kind::disp_rx, i};
            d.packet_handler = open_for(f, *w.packet_handler, WT_PACKET_HANDLER, handled_in, plan.workload, &d.packet_state);
        }
        open_handovers(f, endpoint_index, d);
        open_emulation(f, ep, d, line);
        open_pace(f, e, d);
        d.record_tx = f.record;
        d.record_rx = f.plan.endpoints.size() == 1 ? f.record : nullptr;
    }
}

}  // namespace

application::application() = default;
application::~application() = default;

void set_peer(endpoint &e, const mac_address &peer) {
    for (auto &d : e.dispatchers) prepare_headers(*d, *e.plan, peer);
}

void open_endpoints(flight &f) {
    f.greeter = open_greeter(f.plan);
    for (uint32_t i = 0; i < f.plan.endpoints.size(); i++) {
        endpoint &e = f.endpoints.emplace_back();
        e.plan = &f.plan.endpoints[i];
        e.pool = f.pools[i];
        e.port = &f.ports[i];
        open_applications(f, e, i);
        open_dispatchers(f, e, i);
        link_up(f, e);
    }
}

}  // namespace wt
