#include "parts/copies/accounts.h"

#include <algorithm>

#include "parts/copies/copiers/trip.h"
#include "parts/copies/copy_costs.h"
#include "parts/copies/copying.h"
#include "run/run.h"

namespace wt {

using json = nlohmann::ordered_json;

body_copying *copying_in(const stage_of &place, const endpoint &e) {
    if (place.stage != stage_kind::app_tx && place.stage != stage_kind::app_rx) return nullptr;
    const copied_bodies *const b = find_bodies(*e.applications[place.index]);
    const bool has_it = b && (place.stage == stage_kind::app_tx) == (b->source != nullptr);
    return has_it ? b->copying.get() : nullptr;
}

thread_account account_of(const copier_thread &t) {
    const copy_channel &channel = t.of->channel;
    return {schedstat_of(channel.thread).value_or(sched_times{}), steal_ns({channel.cpu})[0]};
}

namespace {

template <typename Visit>
void for_each_copying(const run_state &f, Visit visit) {
    for (const endpoint &e : f.endpoints)
        for (const auto &a : e.applications)
            if (const copied_bodies *const b = find_bodies(*a); b && b->copying) visit(e, *a, *b->copying);
}

// In the order of their workers.
template <typename Visit>
void for_each_thread(run_state &f, Visit visit) {
    for_each_stage(f, [&](const stage &s, size_t, size_t) {
        const endpoint &e = f.endpoints[s.place.endpoint];
        if (copying_in(s.place, e) == nullptr) return;
        if (auto &thread = bodies_of(*e.applications[s.place.index]).thread) visit(*thread);
    });
}

json by_cpu_json(const copy_counters &counted) {
    json reasons = json::object();
    for (uint32_t i = 0; i < copy_reasons; i++)
        if (counted.by_cpu[i]) reasons[copy_reason_names[i]] = counted.by_cpu[i];
    return reasons;
}

json driver_json(const body_copying &c) {
    if (!c.channel.driver) return json();
    const driver_copies d = c.channel.driver(c.channel.state);
    return {{"submitted", d.submitted}, {"completed", d.completed}, {"errors", d.errors}};
}

json planted_json(const body_copying &c) {
    if (!c.channel.planted) return json();
    const planted_faults p = c.channel.planted(c.channel.state);
    return {{"fault", p.fault}, {"count", p.count}};
}

json breach_json(const body_copying &c) {
    const std::string breach = c.channel.breach ? c.channel.breach(c.channel.state) : "";
    return breach.empty() ? json() : json(breach);
}

// CPU time of a software copier's thread so far.
json thread_ns(const body_copying &c) {
    if (!c.channel.thread) return json();
    const auto times = schedstat_of(c.channel.thread);
    return times ? json(times->on_cpu_ns) : json();
}

// The way of a small copy to the copier and back. One that never ends may still be written: its memory is not
// used again.
bool go_to_copier(void *of, uint64_t deadline, double &ticks) {
    copier_thread &t = *static_cast<copier_thread *>(of);
    body_copying &c = *t.of;
    if (c.gave_up || c.pending.running > 0) return false;
    const copy_trip trip =
        measure_trip(c.channel, t.trip.get() + trip_bytes, t.trip.get(), rte_rdtsc() + c.timeout);
    c.submitted += trip.started;
    c.measuring += trip.started;
    c.ended += trip.ended;
    if (trip.started > trip.ended) {
        c.totals.never_ended += trip.started - trip.ended;
        c.gave_up = true;
        (void)t.trip.release();
    }
    ticks = trip.ticks;
    return ticks > 0 && rte_rdtsc() < deadline;
}

// What the scheduler and the hypervisor did to a copier's thread in a window; null where it has none.
json thread_of_window(copier_thread *thread) {
    if (thread == nullptr) return json();
    const thread_account before = thread->account, now = account_of(*thread);
    thread->account = now;
    return {{"cpu", thread->of->channel.cpu},
            {"preempted_ns", now.sched.preempted_ns - before.sched.preempted_ns},
            {"on_cpu_ns", now.sched.on_cpu_ns - before.sched.on_cpu_ns},
            {"steal_ns", now.steal_ns - before.steal_ns}};
}

json ledger_of(const run_state &f, const endpoint &e, const application &a, const body_copying &c) {
    const copies_plan &plan = *f.plan.workloads[a.workload].copies;
    return {
        {"workload", a.workload},
        {"endpoint", side_names[static_cast<int>(e.plan->side)]},
        {"application", a.index},
        {"engine", plan.engine},
        {"kind", copier_kind_names[static_cast<int>(c.channel.kind)]},
        {"device", c.channel.device},
        {"cpu", c.channel.cpu < 0 ? json() : json(c.channel.cpu)},
        {"cpu_ns", thread_ns(c)},
        {"at_least_bytes", c.at_least},
        {"cpu_copies", cpu_copies_json(a)},
        {"submitted", c.submitted},
        {"measuring", c.measuring},
        {"ended", c.ended},
        {"copies", c.totals.copies},
        {"by_cpu", by_cpu_json(c.totals)},
        {"uncopied", c.totals.uncopied},
        {"bytes", c.totals.bytes},
        {"never_ended", c.totals.never_ended},
        {"missing", static_cast<int64_t>(c.submitted) - static_cast<int64_t>(c.ended + c.totals.never_ended)},
        {"driver", driver_json(c)},
        {"planted", planted_json(c)},
        {"breach", breach_json(c)}};
}

// What a probe read of the ways to copiers' threads.
json copiers_of_probe(const run_state &f, const probe_reading &probe) {
    json list = json::array();
    for (size_t i = 0; probe.complete && i < probe.errands.size(); i++) {
        const probe_errand &errand = f.signals.probe.errands()[i];
        if (errand.run != go_to_copier) continue;
        const auto &t = *static_cast<const copier_thread *>(errand.of);
        list.push_back({{"worker", t.worker},
                        {"cpu", t.of->channel.cpu},
                        {"trip_ns", probe.errands[i] * f.clock.ns_per_tick}});
    }
    return list;
}

json copies_of_window(run_state &f, uint32_t epoch) {
    json list = json::array();
    for_each_stage(f, [&](stage &s, size_t, size_t) {
        const endpoint &e = f.endpoints[s.place.endpoint];
        body_copying *const c = copying_in(s.place, e);
        if (c == nullptr) return;
        const application &a = *e.applications[s.place.index];
        const copy_stats &counted = copies_of(s.stats[epoch & 1]);
        c->totals += counted;
        const bool later = !c->channel.immediate;
        list.push_back({{"workload", a.workload},
                        {"endpoint", side_names[static_cast<int>(e.plan->side)]},
                        {"application", a.index},
                        {"worker", s.worker},
                        {"copies", counted.copies},
                        {"by_cpu", by_cpu_json(counted)},
                        {"uncopied", counted.uncopied},
                        {"bytes", counted.bytes},
                        {"thread", thread_of_window(bodies_of(a).thread.get())},
                        {"completion", later ? histogram_json(counted.completion) : json()},
                        {"sizes", later ? histogram_json(counted.sizes) : json()}});
    });
    return list;
}

json verified_of_run(const run_state &f) {
    json list = json::array();
    for (const endpoint &e : f.endpoints)
        for (const auto &a : e.applications) {
            const copied_bodies *const b = find_bodies(*a);
            const checked_bodies *const c = b == nullptr            ? nullptr
                                            : b->checking_requests  ? &b->checking_requests->found
                                            : b->checking_responses ? &b->checking_responses->found
                                                                    : nullptr;
            if (c == nullptr) continue;
            json first;
            if (c->wrong_packets)
                first = {{"application", c->first.application},
                         {"slot", c->first.slot},
                         {"generation", c->first.generation},
                         {"offset", c->first.offset}};
            list.push_back({{"workload", a->workload},
                            {"endpoint", side_names[static_cast<int>(e.plan->side)]},
                            {"application", a->index},
                            {"packets", c->packets},
                            {"wrong_packets", c->wrong_packets},
                            {"wrong_bytes", c->wrong_bytes},
                            {"first", first}});
        }
    return list;
}

}  // namespace

void add_ways_to_copiers(run_state &f, std::vector<probe_errand> &errands) {
    for_each_thread(f, [&](copier_thread &t) {
        if (!t.of->channel.planted)  // a planted fault is no way
            errands.push_back({t.worker, &t, go_to_copier});
    });
}

void skip_copiers_time(run_state &f) {
    for_each_thread(f, [](copier_thread &t) { t.account = account_of(t); });
}

void add_copies_of_window(run_state &f, uint32_t epoch, const probe_reading *probe, json &line) {
    line["copies"] = copies_of_window(f, epoch);
    if (probe) line["probe"]["copiers"] = copiers_of_probe(f, *probe);
}

void finish_all_copies(run_state &f) {
    for_each_copying(f, [](const endpoint &, application &, body_copying &c) {
        auto last = std::make_unique<copy_stats>();
        last->clear();
        if (!finish_copies(c, *last, c.timeout)) abandon_copies(c, *last);
        c.totals += *last;
    });
}

void free_pending(run_state &f) {
    for_each_copying(f, [](const endpoint &, application &a, body_copying &c) {
        for (; c.pending.head != c.pending.tail; c.pending.head++)
            rte_pktmbuf_free(c.pending.packet(c.pending.head));
        if (!bodies_of(a).source) return;
        rte_pktmbuf_free_bulk(source_of(a).bodies.data(), source_of(a).bodies_count);
        source_of(a).bodies_count = 0;
    });
}

uint64_t abandoned_mbufs(const run_state &f, const rte_mempool *pool) {
    uint64_t count = 0;
    for_each_copying(f, [&](const endpoint &, const application &, const body_copying &c) {
        count += static_cast<uint64_t>(
            std::ranges::count_if(c.abandoned, [&](const rte_mbuf *m) { return m->pool == pool; }));
    });
    return count;
}

void add_copies_of_run(const run_state &f, json &line) {
    json &copies = line["copies"] = json::array();
    for_each_copying(f, [&](const endpoint &e, application &a, body_copying &c) {
        copies.push_back(ledger_of(f, e, a, c));
    });
    line["verified"] = verified_of_run(f);
}

}  // namespace wt
