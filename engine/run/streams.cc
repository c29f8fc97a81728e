#include "run/streams.h"

#include <algorithm>
#include <bit>

#include "core/inflight.h"
#include "core/refusal.h"
#include "run/copies.h"
#include "run/endpoints.h"
#include "run/run.h"
#include "run/seed.h"
#include "stages/client_state.h"
#include "stages/copying.h"
#include "stages/stages.h"
#include "stages/stream.h"

namespace wt {

using json = nlohmann::ordered_json;

namespace {

constexpr uint64_t page = 4096;
// Writes of one call of app_tx: a batch, and no more bytes than a worker copies in some microseconds.
constexpr uint32_t bytes_at_once = 64 << 10;

constexpr const char *state_names[] = {"idle",          "connecting", "listening", "open",
                                       "peer finished", "finishing",  "closed",    "reset"};

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
    const uint16_t queue = e.dispatchers[e.applications[a.index].dispatchers[0]].queue;
    const bool client = e.side == side::client;
    const stream_plan &plan = *w.stream;
    return {.ip = e.ip.v4,
            .peer_ip = client ? e.peer_ip->v4 : 0,
            .port = static_cast<uint16_t>(e.udp_port + queue),
            .peer_port = static_cast<uint16_t>(client ? *e.peer_udp_port + queue : 0),
            .mtu = static_cast<uint16_t>(e.mtu),
            .checksums = plan.checksums,
            .congestion = static_cast<tcp_congestion>(plan.congestion),
            .seed = seed_of(f.plan.seed, chance::streams, a.index * 2u + client),
            .send_buffer = s.send_buffer.get(),
            .receive_buffer = s.receive_buffer.get(),
            .send_bytes = plan.send_buffer_bytes,
            .receive_bytes = plan.receive_buffer_bytes};
}

// What app_tx and app_rx of a client need beside what clients of messages have.
void open_stream_client(run_state &f, application &a, const endpoint_plan &e, const workload_plan &w) {
    stream &s = *a.tcp;
    s.write_bytes = w.stream->write_bytes;
    s.writes_at_once = std::clamp(bytes_at_once / s.write_bytes, 1u, a.batch_tx);
    open_sending(f, a, e, w, s.writes_at_once);
    s.writes.resize(std::bit_ceil(a.inflight->slots.size()));
    open_stream_copies(f, a, w, s.layout, 2 * s.writes_at_once);
    a.copying->release = stream_commit;
}

void open_stream_server(application &a, const workload_plan &w) {
    stream &s = *a.tcp;
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

template <typename Visit>
void for_each_stream(const run_state &f, Visit visit) {
    for (const endpoint &e : f.endpoints)
        for (const auto &a : e.applications)
            if (a->tcp) visit(e, *a, *a->tcp);
}

json checked_json(const stream &s) {
    if (!s.verify) return json();
    return {{"bytes", s.found.bytes},
            {"wrong_bytes", s.found.wrong_bytes},
            {"first_wrong", s.found.wrong_bytes ? json(s.found.first_wrong) : json()}};
}

json ledger_of(const endpoint &e, const application &a, const stream &s) {
    tcp_counters counted;
    wt_tcp_read_counters(s.connection.get(), &counted);
    const uint64_t buffered = wt_tcp_unacknowledged(s.connection.get());
    const auto state = static_cast<size_t>(wt_tcp_state_of(s.connection.get()));
    return {{"workload", a.workload},
            {"endpoint", side_names[static_cast<int>(e.plan->side)]},
            {"application", a.index},
            {"state", state_names[state]},
            {"written", s.committed},
            {"acknowledged", counted.acknowledged_bytes},
            {"buffered", buffered},
            {"missing",
             static_cast<int64_t>(s.committed) - static_cast<int64_t>(counted.acknowledged_bytes + buffered)},
            {"read", s.read},
            {"checked", checked_json(s)},
            {"sent_segments", counted.sent_segments},
            {"retransmitted_segments", counted.retransmitted_segments},
            {"timeouts", counted.timeouts},
            {"window_probes", counted.window_probes}};
}

}  // namespace

void stream_deleter::operator()(stream *s) const { delete s; }

void open_stream(run_state &f, application &a, const endpoint_plan &e, const workload_plan &w) {
    f.lines.phase("opening a stream of " + w.name);
    if (e.applications[a.index].dispatchers.size() != 1)
        throw refusal("workload " + w.name + ": an application of a stream has several dispatchers",
                      "use as many applications as dispatchers");
    stream &s = *(a.tcp = {new stream(stream_layout_of(f, a, w)), {}});
    const stream_plan &plan = *w.stream;
    s.send_bytes = plan.send_buffer_bytes;
    s.send_buffer = memory_of(w, "send buffer", plan.send_buffer_bytes, a.pool->socket_id);
    s.receive_buffer = memory_of(w, "receive buffer", plan.receive_buffer_bytes, a.pool->socket_id);
    const tcp_settings settings = settings_of(f, s, a, e, w);
    s.connection.reset(wt_tcp_open(&settings));
    if (!s.connection)
        throw refusal("workload " + w.name + ": TCP refuses this address, port, MTU or buffer",
                      "use addresses of hosts, ports from 1 to 65535, and buffers of 1 GiB at most");
    s.signals = &f.signals;
    s.tick_mult = static_cast<uint64_t>(f.clock.ns_per_tick * 0x1p32);
    s.pool = a.pool;
    s.of = &a;
    s.tx_steps.names = {{"send buffer to packet", false}};
    e.side == side::client ? open_stream_client(f, a, e, w) : open_stream_server(a, w);
    stream_publish_state(s);
}

void link_streams(run_state &f, endpoint &e, uint32_t endpoint_index) {
    for (const auto &a : e.applications) {
        if (!a->tcp) continue;
        dispatcher &d = *e.dispatchers[e.plan->applications[a->index].dispatchers[0]];
        if (d.links.size() != 1)
            throw refusal("several applications share the dispatcher of a stream",
                          "use as many dispatchers as applications");
        check_workers(f, e, endpoint_index, *a, d);
        d.tcp = a->tcp.get();
        d.tcp->us = e.port->mac;
        d.tcp->spare.resize(std::max(d.batch_tx, d.batch_rx) + 1);
        if (e.plan->peer_mac) d.tcp->peer = *e.plan->peer_mac;
    }
}

void set_stream_peer(dispatcher &d, const mac_address &peer) {
    if (d.tcp) d.tcp->peer = peer;
}

stage_function stream_function(stage_kind stage, bool client) {
    switch (stage) {
        case stage_kind::app_tx: return app_tx_stream;
        case stage_kind::app_rx: return client ? app_rx_acknowledged : app_rx_stream;
        case stage_kind::disp_tx: return disp_tx_stream;
        case stage_kind::disp_rx: return disp_rx_stream;
        default: return nullptr;
    }
}

handler_steps *stream_steps(const dispatcher &d) { return d.tcp ? &d.tcp->tx_steps : nullptr; }

bool streams_unfinished(const run_state &f) {
    bool unfinished = false;
    for_each_stream(f, [&](const endpoint &e, const application &, const stream &s) {
        const tcp_state state = s.state.load(std::memory_order_relaxed);
        // a server whose client has finished still has to read what has come
        unfinished |=
            state == tcp_state::peer_finished ||
            (e.plan->side == side::client && (state == tcp_state::open || state == tcp_state::finishing));
    });
    return unfinished;
}

bool streams_reset(const run_state &f) {
    bool reset = false;
    for_each_stream(f, [&](const endpoint &, const application &, const stream &s) {
        reset |= s.state.load(std::memory_order_relaxed) == tcp_state::reset;
    });
    return reset;
}

void free_spares(run_state &f) {
    for_each_stream(f, [](const endpoint &, const application &, stream &s) {
        rte_pktmbuf_free_bulk(s.spare.data(), s.spares);
        s.spares = 0;
    });
}

json streams_of_run(const run_state &f) {
    json list = json::array();
    for_each_stream(f, [&](const endpoint &e, const application &a, const stream &s) {
        list.push_back(ledger_of(e, a, s));
    });
    return list;
}

}  // namespace wt
