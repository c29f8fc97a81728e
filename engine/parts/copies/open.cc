#include "parts/copies/open.h"

#include <algorithm>
#include <bit>

#include "core/random_bytes.h"
#include "core/refusal.h"
#include "parts/copies/accounts.h"
#include "parts/copies/copiers/registry.h"
#include "parts/copies/copiers/trip.h"
#include "parts/copies/copying.h"
#include "run/run.h"
#include "run/seed.h"
#include "stages/client_state.h"
#include "stages/server_state.h"

namespace wt {

extern const part part_copies;

using json = nlohmann::ordered_json;

namespace {

constexpr uint64_t source_page = 4096;

source_layout layout_of(const run_state &f, const application &a, const workload_plan &w) {
    return {seed_of(f.plan.seed, chance::sources, a.workload), w.source->bytes, a.request.body_bytes,
            w.client_slots, w.source->order == source_order::hot};
}

// Filled for the first application of its workload.
const uint8_t *source_for(const run_state &f, const application &a, const workload_plan &w, uint64_t least) {
    eal_memory &source = bodies_of(a).shared->source;
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

// What is kept of an application, with what others of its workload have already.
copied_bodies &add_bodies(const run_state &f, application &a) {
    auto added = std::make_unique<copied_bodies>();
    for (const endpoint &e : f.endpoints)
        for (const auto &other : e.applications)
            if (const copied_bodies *const b = find_bodies(*other); b && other->workload == a.workload)
                added->shared = b->shared;
    if (!added->shared) added->shared = std::make_shared<workload_bodies>();
    a.bodies = std::move(added);
    return bodies_of(a);
}

copy_channel open_channel(const run_state &f, const application &a, const copies_plan &plan) {
    f.lines.phase("opening the copier " + plan.engine);
    return open_copier(plan.engine, {.application = a.index,
                                     .depth = plan.depth,
                                     .options = plan.options,
                                     .lcores = {plan.lcores.begin(), plan.lcores.end()},
                                     .seed = seed_of(f.plan.seed, chance::engines, a.index),
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
    copied_bodies &bodies = add_bodies(f, a);
    bodies.copying = std::make_unique<body_copying>(open_channel(f, a, plan), capacity);
    body_copying &c = *bodies.copying;
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
    body_copying &c = copying_of(*static_cast<application *>(role));
    finish_copies(c, copies_of(stats), c.timeout);
}

// What a stage needs for the copier of its application.
void open_copier_of(stage &s, const endpoint &e) {
    body_copying *const c = copying_in(s.place, e);
    if (c == nullptr) return;
    for (size_t i = 0; i < 2; i++) s.stats[i].of_part = std::make_unique<copy_stats>();
    s.steps = c->steps;
    s.before_hold = hold;
    if (!c->channel.thread) return;
    auto &thread = bodies_of(*e.applications[s.place.index]).thread;
    thread = std::make_unique<copier_thread>(copier_thread{.of = c, .worker = s.worker});
    copier_thread &t = *thread;
    t.trip.reset(static_cast<uint8_t *>(rte_zmalloc("copy trip", size_t{2} * trip_bytes, trip_bytes)));
    if (!t.trip) throw refusal("no memory for the way to the copier " + c->channel.device);
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
    bodies_of(a).source = std::make_unique<request_source>(
        request_source{layout_of(f, a, w), source_for(f, a, w, a.request.body_bytes)});
    source_of(a).bodies.resize(c.way == copy_way::zero ? burst : 0);
    measure_copies(f, a, w);
}

void open_response_copies(run_state &f, application &a, const workload_plan &w) {
    if (!(a.handler->flags & WT_NAMES_COPIES))
        throw refusal("workload " + w.name +
                          ": its handler names no copies of its responses, and it has no "
                          "source of requests: there is nothing to copy",
                      "use a source, or a handler that names copies");
    make_copying(f, a, *w.copies, static_cast<uint32_t>(a.out.packets.size()) * WT_MAX_COPIES);
    bodies_of(a).named.resize(a.responding->exchanges.size());
    measure_copies(f, a, w);
}

void open_request_checks(run_state &f, application &a, const workload_plan &w) {
    add_bodies(f, a).checking_requests =
        std::make_unique<request_checking>(request_checking{layout_of(f, a, w), a.request.segment_body});
    a.check_requests = check_requests;
}

void open_response_checks(const run_state &f, application &a, const workload_plan &w) {
    if (a.handler == nullptr || a.handler->check == nullptr)
        throw refusal("workload " + w.name + ": its handler cannot check responses",
                      "use verify = false, or a handler with the hook `check`");
    auto checking = std::make_unique<response_checking>();
    checking->requests.resize(a.inflight->slots.size());
    checking->parts.resize(a.batch_rx);
    checking->names.resize(a.batch_rx);
    add_bodies(f, a).checking_responses = std::move(checking);
}

// In the place of the spine's, which copies and checks nothing; null: the spine's.
stage_function function_with(const copied_bodies &bodies, stage_kind stage, bool client) {
    if (stage == stage_kind::app_tx) {
        if (bodies.source) return app_tx_copying;
        return bodies.checking_responses ? app_tx_remembering : nullptr;
    }
    if (client) return bodies.checking_responses ? app_rx_checking : nullptr;
    return bodies.copying ? app_rx_copying : nullptr;
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
            client ? open_response_checks(f, *a, w) : open_request_checks(f, *a, w);
    }
}

void open_stage_of_copies(run_state &, stage &s, const endpoint &e) {
    if (s.place.stage != stage_kind::app_tx && s.place.stage != stage_kind::app_rx) return;
    const copied_bodies *const bodies = find_bodies(*e.applications[s.place.index]);
    if (bodies == nullptr) return;
    if (const auto own = function_with(*bodies, s.place.stage, e.plan->side == side::client)) s.run = own;
    open_copier_of(s, e);
}

void open_carrier_copies(run_state &f, application &a, const workload_plan &w, const source_layout &layout,
                         uint32_t burst, const copy_places &places) {
    make_copying(f, a, *w.copies, burst);
    bodies_of(a).source =
        std::make_unique<request_source>(request_source{layout, source_for(f, a, w, places.bytes)});
    measure_copies(f, a, w, &places);
}

}  // namespace wt
