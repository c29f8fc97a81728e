#include "run/copies.h"

#include <algorithm>
#include <bit>

#include "core/random_bytes.h"
#include "core/refusal.h"
#include "parts/copies/copiers/registry.h"
#include "parts/copies/copiers/trip.h"
#include "run/copy_costs.h"
#include "run/run.h"
#include "run/seed.h"
#include "stages/client_state.h"
#include "stages/copying.h"
#include "stages/server_state.h"
#include "stages/stages.h"

namespace wt {

extern const part part_copies;

using json = nlohmann::ordered_json;

namespace {

constexpr uint64_t source_page = 4096;

source_layout layout_of(const run_state &f, const application &a, const workload_plan &w) {
    return {seed_of(f.plan.seed, chance::sources, a.workload), w.source->bytes, a.request.body_bytes,
            w.client_slots, w.source->order == source_order::hot};
}

// One for all applications of a workload: nobody writes to it.
const uint8_t *source_of(run_state &f, const application &a, const workload_plan &w, uint64_t least) {
    eal_memory &source = f.sources[a.workload];
    if (source) return source.get();
    const uint64_t bytes = w.source->bytes;
    if (bytes < least)
        throw refusal("workload " + w.name + ": a source of " + std::to_string(bytes) +
                          " bytes, and a request's body or a write has " + std::to_string(least),
                      "use a larger source");
    f.lines.phase("filling a source of " + std::to_string(bytes) + " bytes");
    source.reset(static_cast<uint8_t *>(rte_malloc("copy source", bytes, source_page)));
    if (!source)
        throw refusal(
            "workload " + w.name + ": no " + std::to_string(bytes) + " bytes of memory for its source",
            "use a smaller source, or give EAL more memory");
    random_bytes_fill(seed_of(f.plan.seed, chance::sources, a.workload), source.get(), bytes);
    return source.get();
}

copy_channel open_channel(const run_state &f, const application &a, const copies_plan &plan) {
    f.lines.phase("opening the copier " + plan.engine);
    return open_copier(plan.engine, {.application = a.index,
                                     .depth = plan.depth,
                                     .options = plan.options,
                                     .lcores = {plan.lcores.begin(), plan.lcores.end()},
                                     .seed = seed_of(f.plan.seed, chance::copiers, a.index),
                                     .ticks_per_ns = 1 / f.clock.ns_per_tick,
                                     .model = plan.model ? &*plan.model : nullptr});
}

// Behind those of the handler, where the same stage calls it.
void name_steps(body_copying &c, handler_steps *of_handler) {
    if (of_handler) c.steps = of_handler;
    handler_steps &s = *c.steps;
    s.added_by = &part_copies;
    s.added_from = s.names.size();
    if (s.added_from + static_cast<size_t>(copy_step::count) > WT_MAX_STEPS)
        throw refusal("its handler has " + std::to_string(s.added_from) + " steps, and a copier " +
                          std::to_string(static_cast<int>(copy_step::count)) + " more, of at most " +
                          std::to_string(WT_MAX_STEPS),
                      "fewer steps, or no copies");
    for (const char *name : {c.channel.immediate ? "copy" : "submit", "poll", "copy by CPU"})
        s.names.push_back({name, false});
}

// Makes what a stage needs for a copier; `burst`: the most entries of one call.
body_copying &make_copying(run_state &f, application &a, const copies_plan &plan, uint32_t burst) {
    const uint32_t capacity = std::bit_ceil(plan.depth + plan.batch + 2 * burst);
    a.copying = std::make_unique<body_copying>(open_channel(f, a, plan), capacity);
    body_copying &c = *a.copying;
    c.way = plan.way;
    c.burst = burst;
    c.depth = plan.depth;
    c.batch = plan.batch;
    c.at_least = plan.at_least_bytes.value_or(0);
    c.timeout = static_cast<uint64_t>(static_cast<double>(plan.timeout_ns) / f.clock.ns_per_tick);
    c.verify = plan.verify;
    c.pieces.reserve(plan.batch);
    c.which.reserve(plan.batch);
    c.left.reserve(capacity);
    c.ends.resize(plan.batch);
    c.abandoned.reserve(plan.depth);
    name_steps(c, a.steps);
    return c;
}

void hold(void *role, stage_stats &stats) {
    body_copying &c = *static_cast<application *>(role)->copying;
    finish_copies(c, copies_of(stats), c.timeout);
}

template <typename Visit>
void for_each_copying(const run_state &f, Visit visit) {
    for (const endpoint &e : f.endpoints)
        for (const auto &a : e.applications)
            if (a->copying) visit(e, *a, *a->copying);
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
    body_copying &c = *t.of->copying;
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

// Totals since the start; 0 if the kernel has no counter, and then every window's are 0 too.
thread_account account_of(const copier_thread &t) {
    const copy_channel &channel = t.of->copying->channel;
    return {schedstat_of(channel.thread).value_or(sched_times{}), steal_ns({channel.cpu})[0]};
}

// What the scheduler and the hypervisor did to a copier's thread in a window; null where it has none.
json thread_of_window(run_state &f, const application &a) {
    const auto found = std::ranges::find(f.copier_threads, &a, &copier_thread::of);
    if (found == f.copier_threads.end()) return json();
    const thread_account before = found->account, now = account_of(*found);
    found->account = now;
    return {{"cpu", a.copying->channel.cpu},
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
        {"cpu_copies", cpu_copies_json(f, a.workload)},
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
        {"planted", planted_json(c)}};
}

// Of the stage that has a copier; null: this one has none.
body_copying *copying_in(const stage_of &place, const endpoint &e) {
    if (place.stage != stage_kind::app_tx && place.stage != stage_kind::app_rx) return nullptr;
    const application &a = *e.applications[place.index];
    return (place.stage == stage_kind::app_tx) == (a.source != nullptr) ? a.copying.get() : nullptr;
}

// What a stage needs for the copier of its application.
void open_copier_of(run_state &f, stage &s, const endpoint &e) {
    body_copying *const c = copying_in(s.place, e);
    if (c == nullptr) return;
    application &a = *e.applications[s.place.index];
    for (size_t i = 0; i < 2; i++) s.stats[i].of_part = std::make_unique<copy_stats>();
    s.steps = c->steps;
    s.before_hold = hold;
    const copy_channel &channel = a.copying->channel;
    if (!channel.thread) return;
    copier_thread &t = f.copier_threads.emplace_back(copier_thread{.of = &a, .worker = s.worker});
    t.trip.reset(static_cast<uint8_t *>(rte_zmalloc("copy trip", size_t{2} * trip_bytes, trip_bytes)));
    if (!t.trip) throw refusal("no memory for the way to the copier " + channel.device);
    t.account = account_of(t);
}

void open_request_copies(run_state &f, application &a, const workload_plan &w) {
    if (a.handler && a.handler->request)
        throw refusal("workload " + w.name +
                          ": its handler writes the bodies of requests itself, so that they "
                          "cannot come from a source",
                      "use another handler, or no source");
    const auto burst = static_cast<uint32_t>(a.out.packets.size());
    const body_copying &c = make_copying(f, a, *w.copies, burst);
    a.source = std::make_unique<request_source>(
        request_source{layout_of(f, a, w), source_of(f, a, w, a.request.body_bytes)});
    a.source->bodies.resize(c.way == copy_way::zero ? burst : 0);
    measure_copies(f, a, w);
}

void open_response_copies(run_state &f, application &a, const workload_plan &w) {
    if (!(a.handler->flags & WT_NAMES_COPIES))
        throw refusal("workload " + w.name +
                          ": its handler names no copies of its responses, and it has no "
                          "source of requests: there is nothing to copy",
                      "use a source, or a handler that names copies");
    make_copying(f, a, *w.copies, static_cast<uint32_t>(a.out.packets.size()) * WT_MAX_COPIES);
    a.responding->copies.resize(a.responding->exchanges.size());
    measure_copies(f, a, w);
}

void open_request_checks(run_state &f, application &a, const workload_plan &w) {
    a.checking_requests =
        std::make_unique<request_checking>(request_checking{layout_of(f, a, w), a.request.segment_body});
}

void open_response_checks(application &a, const workload_plan &w) {
    if (a.handler == nullptr || a.handler->check == nullptr)
        throw refusal("workload " + w.name + ": its handler cannot check responses",
                      "use verify = false, or a handler with the hook `check`");
    a.checking_responses = std::make_unique<response_checking>();
    a.checking_responses->requests.resize(a.inflight->slots.size());
    a.checking_responses->parts.resize(a.batch_rx);
    a.checking_responses->names.resize(a.batch_rx);
}

// What a probe read of the ways to copiers' threads.
json copiers_of_probe(const run_state &f, const probe_reading &probe) {
    json list = json::array();
    for (size_t i = 0; probe.complete && i < probe.errands.size(); i++) {
        const probe_errand &errand = f.signals.probe.errands()[i];
        if (errand.run != go_to_copier) continue;
        const auto &t = *static_cast<const copier_thread *>(errand.of);
        list.push_back({{"worker", t.worker},
                        {"cpu", t.of->copying->channel.cpu},
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
                        {"thread", thread_of_window(f, a)},
                        {"completion", later ? histogram_json(counted.completion) : json()},
                        {"sizes", later ? histogram_json(counted.sizes) : json()}});
    });
    return list;
}

json verified_of_run(const run_state &f) {
    json list = json::array();
    for (const endpoint &e : f.endpoints)
        for (const auto &a : e.applications) {
            const checked_bodies *const c = a->checking_requests    ? &a->checking_requests->found
                                            : a->checking_responses ? &a->checking_responses->found
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

// In the place of the spine's, which copies and checks nothing; null: the spine's.
stage_function function_with_copies(stage_kind stage, const application &a, bool client) {
    if (stage == stage_kind::app_tx) {
        if (a.source) return app_tx_copying;
        return a.checking_responses ? app_tx_remembering : nullptr;
    }
    if (client) return a.checking_responses ? app_rx_checking : nullptr;
    return a.copying ? app_rx_copying : nullptr;
}

}  // namespace

void tell_handler_of_copies(const workload_plan &w, wt_open &about) { about.copies = w.copies && !w.source; }

bool handler_checks_copies(const workload_plan &w, const wt_handler &table) {
    return w.copies && !w.source && w.copies->verify && table.check != nullptr;
}

void open_copies(run_state &f, endpoint &e, uint32_t) {
    const bool client = e.plan->side == side::client;
    for (const auto &a : e.applications) {
        const workload_plan &w = f.plan.workloads[a->workload];
        if (!w.copies || a->carrier) continue;  // a carrier opens its own
        if (w.source.has_value() == client)
            w.source ? open_request_copies(f, *a, w) : open_response_copies(f, *a, w);
        else if (w.copies->verify)
            client ? open_response_checks(*a, w) : open_request_checks(f, *a, w);
    }
}

void open_stage_of_copies(run_state &f, stage &s, const endpoint &e) {
    if (s.place.stage != stage_kind::app_tx && s.place.stage != stage_kind::app_rx) return;
    const application &a = *e.applications[s.place.index];
    if (const auto own = function_with_copies(s.place.stage, a, e.plan->side == side::client)) s.run = own;
    open_copier_of(f, s, e);
}

void open_carrier_copies(run_state &f, application &a, const workload_plan &w, const source_layout &layout,
                         uint32_t burst, const copy_places &places) {
    make_copying(f, a, *w.copies, burst);
    a.source = std::make_unique<request_source>(request_source{layout, source_of(f, a, w, places.bytes)});
    measure_copies(f, a, w, &places);
}

void add_ways_to_copiers(run_state &f, std::vector<probe_errand> &errands) {
    for (copier_thread &t : f.copier_threads)
        if (!t.of->copying->channel.planted)  // a planted fault is no way
            errands.push_back({t.worker, &t, go_to_copier});
}

void skip_copiers_time(run_state &f) {
    for (copier_thread &t : f.copier_threads) t.account = account_of(t);
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
        if (!a.source) return;
        rte_pktmbuf_free_bulk(a.source->bodies.data(), a.source->bodies_count);
        a.source->bodies_count = 0;
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
