// Which function a stage runs, and on which worker.
#include <set>

#include "parts/registry.h"
#include "run/endpoints.h"
#include "run/run.h"
#include "run/variants.h"
#include "stages/client_state.h"
#include "stages/stages.h"
#include "wires/wire.h"

namespace wt {

static stage_function function_of(const stage_of &place, const endpoint &e) {
    const bool client = e.plan->side == side::client;
    const framing frames = framing_of(e);
    switch (place.stage) {
        case stage_kind::app_tx: return app_tx;
        case stage_kind::app_rx: return client ? app_rx_responses : app_rx_requests;
        case stage_kind::disp_tx:
            if (frames == framing::none) return disp_tx_unframed;
            if (!e.dispatchers[place.index]->spread.empty())
                return frames == framing::ipv6     ? disp_tx_client_spread_ipv6
                       : e.port->tx_checksums != 0 ? disp_tx_client_spread_by_port
                                                   : disp_tx_client_spread;
            if (frames == framing::ipv6) return client ? disp_tx_client_ipv6 : disp_tx_server_ipv6;
            if (e.port->tx_checksums != 0) return client ? disp_tx_client_by_port : disp_tx_server_by_port;
            return client ? disp_tx_client : disp_tx_server;
        case stage_kind::disp_rx:
            if (frames == framing::none) return disp_rx_unframed;
            if (frames == framing::ipv6) return disp_rx_ipv6;
            return e.port->checks_received ? disp_rx_by_port : disp_rx;
        case stage_kind::nic_tx: return e.plan->vlan ? nic_tx_in_vlan : nic_tx;
        case stage_kind::nic_rx:
            if (e.port->paced) return nic_rx_paced;
            return e.plan->vlan ? nic_rx_in_vlan : nic_rx;
    }
    __builtin_unreachable();
}

static void open_stats(stage &s, const endpoint &e, bool is_paced, accounting level) {
    const bool takes_responses = e.plan->side == side::client && s.place.stage == stage_kind::app_rx;
    if (level < accounting::sampled) s.steps = nullptr;  // no cycles are taken
    for (stage_stats *stats : {&s.stats[0], &s.stats[1]}) {
        if (takes_responses) stats->latency = std::make_unique<latencies>();
        if (is_paced) stats->pacing = std::make_unique<latency_histogram>();
        if (s.steps) stats->steps = std::make_unique<step_counters>();
        if (level == accounting::histograms) {
            stats->completion = std::make_unique<batch_histogram>();
            stats->stall = std::make_unique<batch_histogram>();
        }
        stats->clear();
    }
    s.current = &s.stats[0];
}

// As each stage function expects it (stages/stages.h).
static void *role_of(const stage_of &place, const endpoint &e) {
    switch (place.stage) {
        case stage_kind::app_tx:
        case stage_kind::app_rx: return e.applications[place.index].get();
        case stage_kind::disp_tx:
        case stage_kind::disp_rx: return e.dispatchers[place.index].get();
        case stage_kind::nic_tx:
        case stage_kind::nic_rx: return &e.dispatchers[place.index]->nic;
    }
    __builtin_unreachable();
}

static stage open_stage(run_state &f, const stage_of &place, uint32_t worker) {
    endpoint &e = f.endpoints[place.endpoint];
    stage s{};
    s.run = function_of(place, e);
    s.role = s.own_role = role_of(place, e);
    s.place = place;
    s.worker = worker;
    s.stats = std::make_unique<stage_stats[]>(2);
    const bool is_paced =
        place.stage == stage_kind::app_tx && e.applications[place.index]->sending->open_loop;
    if (place.stage == stage_kind::disp_rx) s.steps = e.dispatchers[place.index]->steps;
    if (place.stage == stage_kind::app_rx) s.steps = e.applications[place.index]->steps;
    call_parts(&part::open_stage, f, s, e);
    open_stats(s, e, is_paced, f.plan.accounting.level);
    open_delay(f, s);
    return s;
}

namespace {

void open_probe(run_state &f) {
    constexpr size_t most_errands = 8;
    std::set<int> cpus;
    for (const worker &w : f.workers) cpus.insert(w.cpu);
    if (cpus.size() < f.workers.size()) return;  // two on one CPU: they would wait for each other
    std::vector<probe_pair> pairs;
    for (const probed_pair_plan &pair : f.plan.probe_pairs) pairs.push_back({pair.a, pair.b, pair.round});
    std::vector<probe_errand> errands;
    call_parts(&part::add_errands, f, errands);
    if (errands.size() > most_errands) errands.resize(most_errands);
    const auto ticks = [&](uint64_t ns) {
        return static_cast<uint64_t>(static_cast<double>(ns) / f.clock.ns_per_tick);
    };
    f.signals.probe.open(static_cast<uint32_t>(f.workers.size()), std::move(pairs), std::move(errands),
                         ticks(probe_patience_ns), ticks(probe_step_ns));
}

}  // namespace

void open_workers(run_state &f) {
    for (uint32_t i = 0; i < f.plan.workers.size(); i++) {
        const worker_plan &plan = f.plan.workers[i];
        worker &w = f.workers.emplace_back();
        w.index = i;
        w.lcore = plan.lcore;
        w.cpu = plan.cpu;
        w.level = f.plan.accounting.level;
        w.sample_every = f.plan.accounting.sample_every;
        w.interrupted_above = static_cast<uint64_t>(
            static_cast<double>(f.plan.accounting.interrupted_above_ns) / f.clock.ns_per_tick);
        w.signals = &f.signals;
        w.trace = f.trace ? f.trace->of(i) : nullptr;
        for (const stage_of &place : plan.stages) w.stages.push_back(open_stage(f, place, i));
        f.totals.emplace_back(w.stages.size());
    }
    if (f.plan.variants) apply_variant(f, 0);
    open_probe(f);
    f.sched.resize(f.workers.size());
    f.kernel.resize(f.workers.size());
    f.pauses.resize(f.workers.size());
    f.steal = steal_ns(cpus_of(f));
}

}  // namespace wt
