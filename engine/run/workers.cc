// Which function a stage runs, and on which worker.
#include "run/run.h"
#include "stages/client_state.h"
#include "stages/stages.h"

namespace wt {

static stage_function function_of(stage_kind kind, const endpoint &e) {
    const bool client = e.plan->side == side::client;
    switch (kind) {
        case stage_kind::app_tx: return app_tx;
        case stage_kind::app_rx: return client ? app_rx_responses : app_rx_requests;
        case stage_kind::disp_tx: return client ? disp_tx_client : disp_tx_server;
        case stage_kind::disp_rx: return disp_rx;
        case stage_kind::nic_tx: return nic_tx;
        case stage_kind::nic_rx: return e.port->paced ? nic_rx_paced : nic_rx;
    }
    __builtin_unreachable();
}

static void open_stats(stage &s, bool is_paced, accounting level) {
    if (level < accounting::sampled) s.steps = nullptr;  // no cycles are taken
    s.stats = std::make_unique<stage_stats[]>(2);
    for (stage_stats *stats : {&s.stats[0], &s.stats[1]}) {
        if (s.run == app_rx_responses) stats->latency = std::make_unique<latencies>();
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
    s.run = function_of(place.stage, e);
    s.role = role_of(place, e);
    s.place = place;
    s.worker = worker;
    const bool is_paced =
        place.stage == stage_kind::app_tx && e.applications[place.index]->sending->open_loop;
    if (place.stage == stage_kind::disp_rx) s.steps = e.dispatchers[place.index]->steps;
    if (place.stage == stage_kind::app_rx) s.steps = e.applications[place.index]->steps;
    open_stats(s, is_paced, f.plan.accounting.level);
    return s;
}

void open_workers(run_state &f) {
    for (uint32_t i = 0; i < f.plan.workers.size(); i++) {
        const worker_plan &plan = f.plan.workers[i];
        worker &w = f.workers.emplace_back();
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
    f.sched.resize(f.workers.size());
    f.steal = steal_ns(cpus_of(f));
}

}  // namespace wt
