// What the part `streams` brings: workloads that are TCP connections in the place of messages over UDP.
#include "parts/part.h"
#include "parts/streams/open.h"
#include "parts/streams/stream.h"
#include "run/run.h"

namespace wt {

namespace {

constexpr const char *state_names[] = {"idle",          "connecting", "listening", "open",
                                       "peer finished", "finishing",  "closed",    "reset"};

template <typename Visit>
void for_each_stream(const run_state &f, Visit visit) {
    for (const endpoint &e : f.endpoints)
        for (const auto &a : e.applications)
            if (stream *const s = find_stream(*a)) visit(e, *a, *s);
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

stage_function function_of_stream(stage_kind stage, bool client) {
    switch (stage) {
        case stage_kind::app_tx: return app_tx_stream;
        case stage_kind::app_rx: return client ? app_rx_acknowledged : app_rx_stream;
        case stage_kind::disp_tx: return disp_tx_stream;
        case stage_kind::disp_rx: return disp_rx_stream;
        case stage_kind::nic_tx:
        case stage_kind::nic_rx: return nullptr;
    }
    __builtin_unreachable();
}

stream *stream_at(const stage_of &place, const endpoint &e) {
    switch (place.stage) {
        case stage_kind::app_tx:
        case stage_kind::app_rx: return find_stream(*e.applications[place.index]);
        case stage_kind::disp_tx:
        case stage_kind::disp_rx: return dynamic_cast<stream *>(e.dispatchers[place.index]->carrier);
        case stage_kind::nic_tx:
        case stage_kind::nic_rx: return nullptr;
    }
    __builtin_unreachable();
}

void open_stage_of_stream(run_state &, stage &st, const endpoint &e) {
    stream *const s = stream_at(st.place, e);
    if (s == nullptr) return;
    st.run = function_of_stream(st.place.stage, e.plan->side == side::client);
    if (st.place.stage == stage_kind::disp_tx) st.steps = &s->tx_steps;
}

void set_stream_peer(dispatcher &d, const mac_address &peer) {
    if (auto *const s = dynamic_cast<stream *>(d.carrier)) s->peer = peer;
}

// A client's connection has not said its last word, or a server has not read its client's.
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

const char *streams_reset(const run_state &f) {
    bool reset = false;
    for_each_stream(f, [&](const endpoint &, const application &, const stream &s) {
        reset |= s.state.load(std::memory_order_relaxed) == tcp_state::reset;
    });
    return reset ? "stream reset" : nullptr;
}

// Those that connections keep ready.
void free_spares(run_state &f) {
    for_each_stream(f, [](const endpoint &, const application &, stream &s) {
        rte_pktmbuf_free_bulk(s.spare.data(), s.spares);
        s.spares = 0;
    });
}

void add_streams(const run_state &f, json &line) {
    json &list = line["streams"] = json::array();
    for_each_stream(f, [&](const endpoint &e, const application &a, const stream &s) {
        list.push_back(ledger_of(e, a, s));
    });
}

}  // namespace

WT_PART(streams) = {.name = "streams",
                    .open_application = open_stream,
                    .link_endpoint = link_streams,
                    .open_stage = open_stage_of_stream,
                    .set_peer = set_stream_peer,
                    .end_reason = streams_reset,
                    .is_unfinished = streams_unfinished,
                    .give_back = free_spares,
                    .add_result = add_streams};

}  // namespace wt
