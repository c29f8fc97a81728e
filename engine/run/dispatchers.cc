// From the plan's dispatchers to what disp_* and nic_* work with.
#include <algorithm>

#include "core/frame_ipv6.h"
#include "core/vlan.h"
#include "parts/registry.h"
#include "run/endpoints.h"
#include "run/seed.h"
#include "run/variants.h"
#include "wires/timed_capture.h"
#include "wires/wire.h"

namespace wt {

namespace {

std::unique_ptr<handover> open_handover(const run_state &f, uint32_t endpoint, const dispatcher &d,
                                        stage_kind from, stage_kind to, uint32_t capacity) {
    const int producer = worker_of(f.plan, endpoint, from, d.index),
              consumer = worker_of(f.plan, endpoint, to, d.index);
    const std::string name = std::string(side_names[static_cast<int>(d.side)]) + "." +
                             stage_names[kind_index(from)] + std::to_string(d.index);
    return std::make_unique<handover>(name, capacity, producer >= 0 && consumer >= 0 && producer != consumer,
                                      f.plan.endpoints[endpoint].ring_size,
                                      ring_node(f.plan, {endpoint, to, d.index}, f.nodes));
}

void open_handovers(const run_state &f, uint32_t endpoint, dispatcher &d) {
    const uint32_t tx = std::max({d.batch_tx, d.nic.batch_tx, d.batch_rx});
    d.nic.received = open_handover(f, endpoint, d, stage_kind::nic_rx, stage_kind::disp_rx,
                                   std::max(d.nic.batch_rx, d.batch_rx));
    d.nic.sending = open_handover(f, endpoint, d, stage_kind::disp_tx, stage_kind::nic_tx, tx);
    auto replies = open_handover(f, endpoint, d, stage_kind::disp_rx, stage_kind::nic_tx, tx);
    d.forwards = d.nic.sending.get();
    // On one worker, replies and responses share the array and leave in one burst. Two producers on two
    // workers cannot.
    if (!replies->ring && !d.nic.sending->ring) return;
    d.nic.replies = std::move(replies);
    d.forwards = d.nic.replies.get();
}

flow flow_of(const endpoint_plan &e, const mac_address &us, uint16_t queue, uint16_t peers_queue,
             const mac_address &peer) {
    return {us,
            peer,
            e.ip.v4,
            e.peer_ip->v4,
            static_cast<uint16_t>(e.udp_port + queue),
            static_cast<uint16_t>(*e.peer_udp_port + peers_queue),
            e.ip.v6,
            e.peer_ip->v6};
}

void prepare_headers(dispatcher &d, const endpoint_plan &e, const mac_address &peer) {
    const std::vector<uint16_t> &peers = e.dispatchers[d.index].peers;
    const uint32_t full = e.mtu - ip_udp_bytes(e.ip);
    const auto headers_to = [&](uint16_t peers_queue) {
        const flow f = flow_of(e, d.control.us.mac, d.nic.queue, peers_queue, peer);
        flow_headers headers;
        headers.fill(e.ip.is_v6 ? frame_ipv6_prepare(f) : frame_prepare(f));
        e.ip.is_v6 ? frame_ipv6_resize(headers[0], full) : frame_resize(headers[0], full);
        return headers;
    };
    d.headers = headers_to(peers[0]);
    for (size_t i = 0; i < d.spread.size(); i++) d.spread[i] = headers_to(peers[i]);
}

// `line`: of the emulated link that all dispatchers of the endpoint share; null where there is none.
void open_emulation(const run_state &f, const endpoint_plan &e, dispatcher &d, emulated_line *line) {
    d.nic.is_emulated = e.port.faults || line != nullptr;
    if (!d.nic.is_emulated) return;
    d.nic.wire_burst.resize(size_t{2} * d.nic.batch_tx + size_t{64} * 2);
    if (e.port.faults) {
        d.nic.emulated_faults = std::make_unique<faults>();
        faults_init(*d.nic.emulated_faults, *e.port.faults,
                    seed_of(f.plan.seed, chance::faults, d.nic.queue * 2 + (e.side == side::client)), d.pool);
    }
    if (line != nullptr) {
        uint32_t mbufs = 0;
        for (const endpoint_plan &any : f.plan.endpoints) mbufs += any.pool.size;
        d.nic.after_faults.resize(d.nic.wire_burst.size());
        d.nic.link_ahead = std::make_unique<emulated_link>(*e.port.link, line, f.clock.ns_per_tick, mbufs);
    }
}

// The frames of the port's capture that enter on the dispatcher's queue.
void open_pace(const run_state &f, const endpoint &e, dispatcher &d) {
    if (!e.port->paced) return;
    const timed_capture &all = *e.port->paced;
    auto &p = *(d.nic.paced = std::make_unique<paced_frames>());
    p.signals = &f.signals;
    p.bytes = all.bytes.data();
    p.times.round_ns = all.round_ns;
    p.times.ticks_per_ns = 1 / f.clock.ns_per_tick;
    p.tick_mult = static_cast<uint64_t>(f.clock.ns_per_tick * 0x1p32);
    p.late.clear();
    for (const timed_frame &frame : all.queues[d.nic.queue]) {
        p.times.due_ns.push_back(frame.due_ns);
        p.frames.emplace_back(frame.at, frame.bytes);
    }
}

}  // namespace

framing framing_of(const endpoint &e) {
    if (has(*e.port->wire, WT_WIRE_UNFRAMED)) return framing::none;
    return e.plan->ip.is_v6 ? framing::ipv6 : framing::ipv4;
}

void open_dispatchers(run_state &f, endpoint &e, uint32_t endpoint_index) {
    const endpoint_plan &ep = *e.plan;
    const batch_plan batch = largest_batch(f.plan, ep);
    emulated_line *const line = ep.port.link ? &f.lines_ahead.emplace_back(now()) : nullptr;
    for (uint32_t i = 0; i < ep.dispatchers.size(); i++) {
        const dispatcher_plan &plan = ep.dispatchers[i];
        const workload_plan &w = f.plan.workloads[plan.workload];
        auto &d = *e.dispatchers.emplace_back(std::make_unique<dispatcher>());
        d.side = d.control.side = ep.side;
        d.index = static_cast<uint16_t>(i);
        d.nic.port = e.port->id;
        d.nic.queue = plan.queue;
        d.control.frames = framing_of(e);
        d.nic.untold_bytes = d.control.frames == framing::none ? frame_header_bytes : 0;
        if (ep.vlan) d.nic.tag = vlan_tag_of(ep.vlan->id, ep.vlan->priority);
        d.nic.transport = e.port->queue;
        if (d.nic.transport != nullptr) d.nic.channel = e.port->channels[plan.queue];
        d.workload = static_cast<uint8_t>(plan.workload);
        d.batch_rx = batch.disp_rx;
        d.batch_tx = batch.disp_tx;
        d.nic.batch_rx = batch.nic_rx;
        d.nic.batch_tx = batch.nic_tx;
        d.nic.early.packets.resize(std::min(most_early, d.nic.batch_rx));
        d.port_checksums = e.port->tx_checksums;
        d.checksum = ep.port.udp_checksum ? udp_checksum::whole : udp_checksum::none;
        d.control.us = {e.port->mac, ep.ip.v4, ep.udp_port, ep.port.queues, plan.queue, ep.ip.v6};
        d.plain = plain_match_of(d.control.us);
        d.control.handshake = f.handshake.get();
        d.pool = d.nic.pool = e.pool;
        d.workload_has_messages = ep.side == side::client || w.handler.has_value();
        d.passed.resize(d.batch_rx);
        d.views.resize(d.batch_rx);
        if (ep.side == side::client) {
            if (plan.peers.size() > 1) d.spread.resize(plan.peers.size());
            d.control.resolver = &e.resolver;
            d.control.peer_ip = ep.peer_ip->v4;
            d.control.peer_ipv6 = ep.peer_ip->v6;
            if (ep.peer_mac) prepare_headers(d, ep, *ep.peer_mac);
        } else if (const auto use = handler_of_dispatcher(f.plan, endpoint_index, i)) {
            d.packet_handler = open_handler(f, *use, &d.packet_state, &d.steps);
        }
        open_handovers(f, endpoint_index, d);
        open_emulation(f, ep, d, line);
        open_pace(f, e, d);
        d.nic.record_tx = f.record;
        d.nic.record_rx = f.plan.endpoints.size() == 1 ? f.record : nullptr;
    }
}

void set_peer(endpoint &e, const mac_address &peer) {
    for (auto &d : e.dispatchers) {
        prepare_headers(*d, *e.plan, peer);
        call_parts(&part::set_peer, *d, peer);
    }
}

}  // namespace wt
