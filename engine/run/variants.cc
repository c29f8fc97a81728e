#include "run/variants.h"

#include <algorithm>

#include "core/inflight.h"
#include "run/delay.h"
#include "run/endpoints.h"
#include "stages/client_state.h"

namespace wt {

namespace {

constexpr uint16_t batch_plan::*const batches[] = {&batch_plan::app_tx,  &batch_plan::disp_tx,
                                                   &batch_plan::nic_tx,  &batch_plan::nic_rx,
                                                   &batch_plan::disp_rx, &batch_plan::app_rx};
static_assert(std::size(batches) == stage_kinds);  // in their order

batch_plan batch_of(const variant_plan &v, const endpoint_plan &e) {
    batch_plan batch = e.batch;
    if (const auto changed = v.batch.find(e.side); changed != v.batch.end())
        for (const auto &[stage, size] : changed->second) batch.*batches[kind_index(stage)] = size;
    return batch;
}

// Each application's part is as in the plan. src/windtunnel/scenario/variants.py sizes pools likewise.
uint32_t inflight_of(const variant_plan &v, const endpoint_plan &e, uint32_t application) {
    const uint64_t own = e.applications[application].inflight;
    if (!v.inflight) return static_cast<uint32_t>(own);
    uint64_t all = 0;
    for (const application_plan &a : e.applications) all += a.inflight;
    return static_cast<uint32_t>(std::max<uint64_t>(1, *v.inflight * own / all));
}

double delay_ns(const variant_plan &v, const plan &p, const stage_of &place) {
    double ns = 0;
    for (const delay_plan &d : v.delays)
        if (d.endpoint == p.endpoints[place.endpoint].side && d.stage == place.stage) ns += d.ns;
    return ns;
}

void change_application(application &a, const variant_plan &v, const endpoint_plan &e) {
    const batch_plan batch = batch_of(v, e);
    a.batch_tx = batch.app_tx;
    a.batch_rx = batch.app_rx;
    if (e.side != side::client) return;
    a.sending->at_once = messages_at_once(a, a.sending->sizes.has_value());
    a.sending->withheld = static_cast<uint32_t>(a.inflight->slots.size()) - inflight_of(v, e, a.index);
}

void change_dispatcher(dispatcher &d, const variant_plan &v, const endpoint_plan &e) {
    const batch_plan batch = batch_of(v, e);
    d.batch_rx = batch.disp_rx;
    d.batch_tx = batch.disp_tx;
    d.nic.batch_rx = batch.nic_rx;
    d.nic.batch_tx = batch.nic_tx;
}

void change_delay(const run_state &f, stage &s, const variant_plan &v) {
    delay &d = *static_cast<delay *>(s.role);
    const double ticks = delay_ns(v, f.plan, s.place) / f.clock.ns_per_tick;
    d.ticks = static_cast<uint64_t>(ticks * (1 << delay_fraction_bits) + 0.5);
    d.counted = 0;
    d.debt = 0;
}

}  // namespace

void open_delay(run_state &f, stage &s) {
    if (!f.plan.variants) return;
    const auto delays = [&](const variant_plan &v) { return delay_ns(v, f.plan, s.place) > 0; };
    if (std::ranges::none_of(f.plan.variants->variants, delays)) return;
    s.role = &f.delays.emplace_back(delay{s.run, s.role, static_cast<int64_t>(stamp_ticks())});
    s.run = delayed;
}

batch_plan largest_batch(const plan &p, const endpoint_plan &e) {
    batch_plan largest = e.batch;
    if (!p.variants) return largest;
    for (const variant_plan &v : p.variants->variants) {
        const batch_plan batch = batch_of(v, e);
        for (const auto stage : batches) largest.*stage = std::max(largest.*stage, batch.*stage);
    }
    return largest;
}

uint32_t largest_inflight(const plan &p, const endpoint_plan &e, uint32_t application) {
    uint32_t largest = e.applications[application].inflight;
    if (!p.variants || e.side != side::client) return largest;
    for (const variant_plan &v : p.variants->variants)
        largest = std::max(largest, inflight_of(v, e, application));
    return largest;
}

uint32_t variant_of_window(const plan &p, uint64_t n) {
    return p.variants ? p.variants->order[n % p.variants->order.size()] : 0;
}

void apply_variant(run_state &f, uint32_t variant) {
    const variant_plan &v = f.plan.variants->variants[variant];
    for (endpoint &e : f.endpoints) {
        for (auto &a : e.applications) change_application(*a, v, *e.plan);
        for (auto &d : e.dispatchers) change_dispatcher(*d, v, *e.plan);
    }
    for_each_stage(f, [&](stage &s, size_t, size_t) {
        if (s.run == delayed) change_delay(f, s, v);
    });
    f.variant = variant;
}

}  // namespace wt
