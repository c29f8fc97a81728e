// Opens the connections of streams, and gives them to their dispatchers.
#include "parts/streams/open.h"

#include <algorithm>
#include <bit>

#include "core/inflight.h"
#include "core/refusal.h"
#include "parts/copies/copying.h"
#include "parts/copies/open.h"
#include "parts/streams/stream.h"
#include "run/endpoints.h"
#include "run/run.h"
#include "run/seed.h"
#include "stages/client_state.h"

namespace wt {

namespace {

constexpr uint64_t page = 4096;
// Writes of one call of app_tx: a batch, and no more bytes than a worker copies in some microseconds.
constexpr uint32_t bytes_at_once = 64 << 10;

eal_memory memory_of(const workload_plan &w, const char *what, uint64_t bytes, int node) {
    eal_memory found(static_cast<uint8_t *>(rte_malloc_socket(what, bytes, page, node)));
    if (!found)
        throw refusal("workload " + w.name + ": no " + std::to_string(bytes) + " bytes for a " + what,
                      "use a smaller buffer, or give EAL more memory");
    return found;
}

source_layout stream_layout_of(const run_state &f, const application &a, const workload_plan &w) {
    return {seed_of(f.plan.seed, chance::sources, a.workload), w.source->bytes, w.stream->write_bytes, 1,
            w.source->order == source_order::hot};
}

tcp_settings settings_of(const run_state &f, const stream &s, const application &a, const endpoint_plan &e,
                         const workload_plan &w) {
    const dispatcher_plan &d = e.dispatchers[e.applications[a.index].dispatchers[0]];
    const bool client = e.side == side::client;
    const stream_plan &plan = *w.stream;
    return {.ip = e.ip.v4,
            .peer_ip = client ? e.peer_ip->v4 : 0,
            .port = static_cast<uint16_t>(e.udp_port + d.queue),
            .peer_port = static_cast<uint16_t>(client ? *e.peer_udp_port + d.peers[0] : 0),
            .mtu = static_cast<uint16_t>(e.mtu),
            .checksums = plan.checksums,
            .congestion = static_cast<tcp_congestion>(plan.congestion),
            .seed = seed_of(f.plan.seed, chance::carriers, a.index * 2u + client),
            .send_buffer = s.send_buffer.get(),
            .receive_buffer = s.receive_buffer.get(),
            .send_bytes = plan.send_buffer_bytes,
            .receive_bytes = plan.receive_buffer_bytes};
}

copy_places places_of_writes(const stream &s) {
    copy_places writes{s.write_bytes, {}};
    for (uint64_t at = 0; at + s.write_bytes <= s.send_bytes; at += s.write_bytes)
        writes.begins.push_back(s.send_buffer.get() + at);
    return writes;
}

// What app_tx and app_rx of a client need beside what clients of messages have.
void open_stream_client(run_state &f, application &a, const endpoint &e, const workload_plan &w) {
    stream &s = stream_of(a);
    s.write_bytes = w.stream->write_bytes;
    s.writes_at_once = std::clamp(bytes_at_once / s.write_bytes, 1u, a.batch_tx);
    open_sending(f, a, e, w, s.writes_at_once);
    s.writes.resize(std::bit_ceil(a.inflight->slots.size()));
    open_carrier_copies(f, a, w, s.layout, 2 * s.writes_at_once, places_of_writes(s));
    copying_of(a).release = stream_commit;
}

void open_stream_server(application &a, const workload_plan &w) {
    stream &s = stream_of(a);
    s.read_bytes = w.stream->read_bytes;
    s.scan = w.scan;
    s.verify = w.copies && w.copies->verify;
}

void check_workers(const run_state &f, const endpoint &e, uint32_t endpoint_index, const application &a,
                   const dispatcher &d) {
    const int worker = worker_of(f.plan, endpoint_index, stage_kind::app_rx, a.index);
    for (const stage_kind stage : {stage_kind::app_tx, stage_kind::disp_tx, stage_kind::disp_rx}) {
        if (stage == stage_kind::app_tx && e.plan->side == side::server) continue;
        const uint32_t index = stage == stage_kind::app_tx ? a.index : d.index;
        if (worker_of(f.plan, endpoint_index, stage, index) != worker)
            throw refusal("the stages app_tx, app_rx, disp_tx and disp_rx of a stream run on several workers",
                          "place them on one: TCP belongs to one thread");
    }
}

}  // namespace

bool open_stream(run_state &f, application &a, const endpoint &e, const workload_plan &w) {
    if (!w.stream) return false;
    f.lines.phase("opening a stream of " + w.name);
    if (e.plan->applications[a.index].dispatchers.size() != 1)
        throw refusal("workload " + w.name + ": an application of a stream has several dispatchers",
                      "use as many applications as dispatchers");
    a.carrier = std::make_unique<stream>(stream_layout_of(f, a, w));
    stream &s = stream_of(a);
    const stream_plan &plan = *w.stream;
    s.send_bytes = plan.send_buffer_bytes;
    s.send_buffer = memory_of(w, "send buffer", plan.send_buffer_bytes, a.pool->socket_id);
    s.receive_buffer = memory_of(w, "receive buffer", plan.receive_buffer_bytes, a.pool->socket_id);
    const tcp_settings settings = settings_of(f, s, a, *e.plan, w);
    s.connection.reset(wt_tcp_open(&settings));
    if (!s.connection)
        throw refusal("workload " + w.name + ": TCP refuses this address, port, MTU or buffer",
                      "use addresses of hosts, ports from 1 to 65535, and buffers of 1 GiB at most");
    s.signals = &f.signals;
    s.tick_mult = static_cast<uint64_t>(f.clock.ns_per_tick * 0x1p32);
    s.pool = a.pool;
    s.of = &a;
    s.tx_steps.names = {{"send buffer to packet", false}};
    e.plan->side == side::client ? open_stream_client(f, a, e, w) : open_stream_server(a, w);
    stream_publish_state(s);
    return true;
}

void link_streams(run_state &f, endpoint &e, uint32_t endpoint_index) {
    for (const auto &a : e.applications) {
        stream *const s = find_stream(*a);
        if (s == nullptr) continue;
        dispatcher &d = *e.dispatchers[e.plan->applications[a->index].dispatchers[0]];
        if (d.links.size() != 1)
            throw refusal("several applications share the dispatcher of a stream",
                          "use as many dispatchers as applications");
        check_workers(f, e, endpoint_index, *a, d);
        d.carrier = s;
        s->us = e.port->mac;
        s->spare.resize(std::max(d.batch_tx, d.batch_rx) + 1);
        if (e.plan->peer_mac) s->peer = *e.plan->peer_mac;
    }
}

}  // namespace wt
