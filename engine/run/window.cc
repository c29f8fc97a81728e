// One window as a JSON line, from counters that its workers have left.
#include <rte_mempool.h>

#include <algorithm>
#include <optional>

#include "parts/registry.h"
#include "run/run.h"

namespace wt {

namespace {

stage_stats &stats_of(stage &s, uint32_t epoch) { return s.stats[epoch & 1]; }

enum side side_of(run_state &f, const stage &s) { return f.endpoints[s.place.endpoint].plan->side; }

json stages_json(run_state &f, uint32_t epoch) {
    json list = json::array();
    if (f.plan.accounting.level == accounting::off) return list;
    for_each_stage(f, [&](stage &s, size_t, size_t) {
        list.push_back(stage_json(s, stats_of(s, epoch), side_of(f, s), f.plan.accounting.level));
    });
    return list;
}

json steps_json(run_state &f, uint32_t epoch) {
    json list = json::array();
    for_each_stage(f,
                   [&](stage &s, size_t, size_t) { add_steps(list, s, stats_of(s, epoch), side_of(f, s)); });
    return list;
}

json workers_json(run_state &f, uint32_t epoch) {
    json list = json::array();
    const std::vector<uint64_t> steal = steal_ns(cpus_of(f));
    for (size_t i = 0; i < f.workers.size(); i++) {
        worker &w = f.workers[i];
        worker_stats &stats = w.stats[epoch & 1];
        speed_log &speed = w.speed[epoch & 1];
        const bool sampled = speed.taken > 0;
        const int thread = w.tid.load(std::memory_order_relaxed);
        const auto now = schedstat_of(thread);
        if (now) f.pauses[i].look(now->preempted_ns);
        const auto kernel = kernel_work_of(thread);
        const kernel_work &then = f.kernel[i];
        list.push_back({{"worker", i},
                        {"cpu", w.cpu},
                        {"thread", thread},
                        {"loops", stats.loops},
                        {"cycles", stats.cycles},
                        {"timed_cycles", stats.timed_cycles},
                        {"preempted_ns", now ? json(now->preempted_ns - f.sched[i].preempted_ns) : json()},
                        {"longest_pause_ns", now ? json(f.pauses[i].take()) : json()},
                        {"on_cpu_ns", now ? json(now->on_cpu_ns - f.sched[i].on_cpu_ns) : json()},
                        {"system_ns", kernel ? json(kernel->system_ns - then.system_ns) : json()},
                        {"minor_faults", kernel ? json(kernel->minor_faults - then.minor_faults) : json()},
                        {"major_faults", kernel ? json(kernel->major_faults - then.major_faults) : json()},
                        {"steal_ns", steal[i] - f.steal[i]},
                        {"chain_ticks", sampled ? json(speed_chain(speed)) : json()},
                        {"wide_ticks", sampled ? json(speed_wide(speed)) : json()}});
        if (now) f.sched[i] = *now;
        if (kernel) f.kernel[i] = *kernel;
        stats = {};
        speed.taken = 0;
    }
    f.steal = steal;
    return list;
}

json ports_json(run_state &f, uint32_t epoch) {
    json list = json::array();
    for (size_t e = 0; e < f.endpoints.size(); e++) {
        stage_counters rx{}, tx{}, all{};
        for_each_stage(f, [&](stage &s, size_t, size_t) {
            if (s.place.endpoint != e) return;
            const stage_stats &stats = stats_of(s, epoch);
            all += stats;
            if (s.place.stage == stage_kind::nic_rx) rx += stats;
            if (s.place.stage == stage_kind::nic_tx) tx += stats;
        });
        list.push_back({{"endpoint", side_names[static_cast<int>(f.endpoints[e].plan->side)]},
                        {"rx_packets", rx.packets},
                        {"rx_bytes", all.rx_bytes},
                        {"rx_bursts", rx.bursts},
                        {"tx_packets", tx.packets},
                        {"tx_bytes", all.tx_bytes},
                        {"tx_bursts", tx.bursts},
                        {"doorbells", f.endpoints[e].port->has_doorbells ? json(tx.bursts) : json()},
                        {"link_down_ns", f.endpoints[e].link_down_ns}});
        f.endpoints[e].link_down_ns = 0;
    }
    return list;
}

void add_totals(run_state &f, uint32_t epoch) {
    for_each_stage(f, [&](stage &s, size_t w, size_t i) { f.totals[w][i] += stats_of(s, epoch); });
}

// Sums of stages whose workers leave a window one after the other: a message that app_tx sends in the next
// window may have its response in this one. Fewer than none are not in flight.
uint64_t in_flight(const stage_counters &so_far) {
    return static_cast<uint64_t>(
        std::max(int64_t{0}, static_cast<int64_t>(so_far.sent - so_far.responses - so_far.lost)));
}

json workload_json(run_state &f, uint32_t epoch, uint32_t workload) {
    auto merged = std::make_unique<latencies>();
    merged->intended.clear();
    merged->sent.clear();
    std::unique_ptr<latency_histogram> pacing;
    stage_counters window{}, so_far{};
    for_each_client_stage(f, workload, [&](stage &s, size_t w, size_t i) {
        const stage_stats &stats = stats_of(s, epoch);
        window += stats;
        so_far += f.totals[w][i];
        if (stats.pacing) {
            if (!pacing) (pacing = std::make_unique<latency_histogram>())->clear();
            histogram_merge(*pacing, *stats.pacing);
        }
        if (!stats.latency) return;
        histogram_merge(merged->intended, stats.latency->intended);
        histogram_merge(merged->sent, stats.latency->sent);
    });
    json line = {{"workload", workload},
                 {"unsent", so_far.offered - so_far.sent},
                 {"in_flight", in_flight(so_far)},
                 {"latency", histogram_json(merged->intended)},
                 {"latency_sent", histogram_json(merged->sent)},
                 {"pacing", pacing ? histogram_json(*pacing) : json()}};
    add_counters(line, window, counter_line::workload);
    return line;
}

json workloads_json(run_state &f, uint32_t epoch) {
    json list = json::array();
    for (uint32_t i = 0; i < f.plan.workloads.size(); i++)
        if (f.plan.workloads[i].load) list.push_back(workload_json(f, epoch, i));
    return list;
}

template <typename Ring>
void add_ring(json &list, const Ring &r) {
    list.push_back({{"name", r.name}, {"size", r.capacity()}, {"used", r.used()}});
}

json rings_json(run_state &f) {
    json list = json::array();
    for (auto &l : f.links) {
        add_ring(list, *l->to_dispatcher);
        add_ring(list, *l->to_application);
    }
    for (endpoint &e : f.endpoints)
        for (auto &d : e.dispatchers)
            for (const handover *h : {d->nic.received.get(), d->nic.replies.get(), d->nic.sending.get()})
                if (h != nullptr && h->ring) add_ring(list, *h->ring);
    return list;
}

json pools_json(run_state &f) {
    json list = json::array();
    for (const endpoint &e : f.endpoints)
        list.push_back({{"endpoint", side_names[static_cast<int>(e.plan->side)]},
                        {"size", e.plan->pool.size},
                        {"free", rte_mempool_avail_count(e.pool)}});
    return list;
}

// What the probe at the window's end measured; null where none was asked for.
json probe_json(run_state &f, const probe_reading *probe) {
    if (probe == nullptr) return {};
    if (!probe->complete)
        return {{"complete", false}, {"held_ns", 0}, {"pairs", json::array()}, {"workers", json::array()}};
    json pairs = json::array(), workers = json::array();
    for (size_t i = 0; i < f.signals.probe.pairs().size(); i++) {
        const probe_pair &pair = f.signals.probe.pairs()[i];
        pairs.push_back(
            {{"a", pair.a}, {"b", pair.b}, {"line_ns", probe->round_trip[i] * f.clock.ns_per_tick}});
    }
    for (size_t i = 0; i < f.workers.size(); i++)
        workers.push_back(
            {{"worker", i}, {"alone_ticks", probe->alone[i]}, {"together_ticks", probe->together[i]}});
    return {{"complete", true},
            {"held_ns", f.clock.ns(probe->held_ticks)},
            {"pairs", pairs},
            {"workers", workers}};
}

}  // namespace

void write_window(run_state &f, const char *phase, uint32_t epoch, uint64_t end_tsc,
                  const probe_reading *probe) {
    add_totals(f, epoch);
    json window = {{"type", "window"},
                   {"index", f.windows++},
                   {"phase", phase},
                   {"variant", f.plan.variants ? json(f.variant) : json()},
                   {"start_ns", f.lines.at_ns(f.window_start)},
                   {"end_ns", f.lines.at_ns(end_tsc)},
                   {"stages", stages_json(f, epoch)},
                   {"steps", steps_json(f, epoch)},
                   {"counters", counters_of_window(f.counters)},
                   {"workers", workers_json(f, epoch)},
                   {"ports", ports_json(f, epoch)},
                   {"workloads", workloads_json(f, epoch)},
                   {"rings", rings_json(f)},
                   {"pools", pools_json(f)},
                   {"probe", probe_json(f, probe)}};
    call_parts(&part::add_window, f, epoch, probe, window);
    f.lines.write(window);
    telemetry_publish(f.shown, f.plan, f.clock, window);
    f.window_start = end_tsc;
    for_each_stage(f, [&](stage &s, size_t, size_t) { stats_of(s, epoch).clear(); });
}

}  // namespace wt
