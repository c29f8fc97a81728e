// Opens the pipeline of one dispatcher, or on a client what writes the keys; names its steps and counters.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "core/clock.h"
#include "core/refusal.h"
#include "handlers/applications/opening.h"
#include "handlers/loading/inside.h"
#include "parts/tables/live_table.h"
#include "parts/tables/match_action.h"

namespace wt {

namespace {

// The state: what the data path sees, and what keeps it alive.
struct pipeline : ma_pipeline {
    pipeline_plan plan;
    std::vector<std::shared_ptr<live_table>> live;
    std::vector<bool> owned;  // of the table's counters: one of its users shows them
    std::vector<ma_source> keys;
    std::vector<void *> memory;
    std::vector<wt_step_name> steps_named;
    std::vector<wt_counter> counters_named;

    explicit pipeline(pipeline_plan p) : ma_pipeline{}, plan(std::move(p)) {
        for (auto &of_table : values) std::fill(std::begin(of_table), std::end(of_table), MA_NOT_ASKED);
    }
    ~pipeline() {
        for (uint32_t t = 0; t < live.size(); t++) wt_table_reader_close(live[t]->table(), &tables[t].reader);
        for (ma_source &s : keys) wt_keys_close(&s.keys);
        for (void *each : memory) std::free(each);
    }
    pipeline(const pipeline &) = delete;
};

pipeline &of(void *state) { return static_cast<pipeline &>(*static_cast<ma_pipeline *>(state)); }

// Tables that several dispatchers of a workload share, for as long as one of them holds it. Main alone opens
// and closes.
std::shared_ptr<live_table> shared_table(uint32_t workload, const table_plan &plan, std::optional<int> cpu,
                                         bool *mine) {
    static std::map<std::pair<uint32_t, std::string>, std::weak_ptr<live_table>> open;
    std::weak_ptr<live_table> &place = open[{workload, plan.name}];
    std::shared_ptr<live_table> table = place.lock();
    *mine = table == nullptr;
    if (table == nullptr) place = table = std::make_shared<live_table>(plan, cpu, -1);
    return table;
}

// Counters and meters of a worker's own. Throws refusal.
void *take(pipeline &p, const wt_open &open, const table_plan &t, uint64_t bytes) {
    const std::string what = "the action of table " + t.name;
    void *memory = wt_take_memory(&open, what.c_str(), bytes);
    if (memory == nullptr) throw refusal(open.error);
    p.memory.push_back(memory);
    return memory;
}

void open_meters(pipeline &p, const wt_open &open, const table_plan &t, ma_actions &a) {
    const meter_plan &m = *t.meter;
    rte_meter_trtcm_params params{.cir = m.committed_bytes_per_s,
                                  .pir = m.peak_bytes_per_s,
                                  .cbs = m.burst_bytes,
                                  .pbs = m.burst_bytes};
    if (rte_meter_trtcm_profile_config(&a.profile, &params))
        throw refusal("table " + t.name + ": DPDK's meter rejects these rates",
                      "use a peak rate that is at least the committed rate");
    a.meters = static_cast<rte_meter_trtcm *>(take(p, open, t, a.entries * sizeof *a.meters));
    for (uint64_t i = 0; i < a.entries; i++) {
        rte_meter_trtcm_config(a.meters + i, &a.profile);
        a.meters[i].time_tc = a.meters[i].time_tp = now();
    }
    p.held_ticks = &held_ticks;
}

void open_actions(pipeline &p, const wt_open &open, const table_plan &t, const live_table &live,
                  ma_actions &a) {
    a.kind = in_library(t.action);
    a.entries = live.entries();
    a.data = live.data().data();
    if (t.action == table_action::count)
        a.counters = static_cast<ma_counter *>(take(p, open, t, a.entries * sizeof *a.counters));
    if (t.action == table_action::meter) open_meters(p, open, t, a);
}

void open_table(pipeline &p, const wt_open &open, uint32_t number) {
    const table_plan &plan = p.plan.tables[number];
    bool mine = true;
    std::shared_ptr<live_table> live =
        plan.per_core ? std::make_shared<live_table>(plan, p.plan.change_cpu, open.numa_socket)
                      : shared_table(open.workload, plan, p.plan.change_cpu, &mine);
    ma_table &t = p.tables[number];
    t.key = in_library(plan.key);
    t.lookup = in_library(plan.lookup);
    t.miss_drops = plan.miss_drops;
    t.expected = plan.expected;
    t.rules = live->rules();
    open_actions(p, open, plan, *live, t.actions);
    if (wt_table_reader_open(live->table(), &t.reader))
        throw refusal("table " + plan.name + " has more readers than " + std::to_string(WT_TABLE_READERS),
                      "use fewer dispatchers");
    p.live.push_back(std::move(live));
    p.owned.push_back(mine);
    p.checks |= plan.steered && p.plan.traffic != traffic::none;
}

// What draws one table's keys. Throws refusal.
void open_source(pipeline &p, const table_plan &plan) {
    ma_source &s = p.keys.emplace_back();
    s.key = in_library(plan.key);
    s.expected = plan.expected;
    s.steered = plan.steered;
    if (!plan.steered) return;
    char words[512] = "";
    wt_generator generator;
    rules_list rules;
    int failed;
    const uint32_t popularity = in_library(plan.popularity);
    if (plan.file) {
        load_rules(plan, rules, generator);
        failed = wt_keys_of_rules(&s.keys, &rules, plan.hit, popularity, plan.exponent, plan.seed, words,
                                  sizeof words);
    } else {
        failed = open_generator(plan, generator, words, sizeof words) ||
                 wt_keys_of_generator(&s.keys, &generator, plan.hit, popularity, plan.exponent, words,
                                      sizeof words);
    }
    if (failed) throw refusal("table " + plan.name + ": " + words);
}

void name_steps(pipeline &p) {
    const auto add = [&](const char *name, uint32_t flags = 0) { p.steps_named.push_back({name, flags, 0}); };
    if (p.makes_frames) add("traffic", WT_STEP_TRAFFIC);
    add("parser");
    add("verify checksum");
    for (const table_plan &t : p.plan.tables) add(t.name.c_str());
    add("compute checksum");
    add("deparser");
    if (p.checks) add("check", WT_STEP_TRAFFIC);
    p.steps_named.push_back({});
}

// In the order in which ma_read_counters writes them.
void name_counters(pipeline &p) {
    const auto add = [&](const char *of, const char *name, const char *unit, wt_counter_kind kind) {
        p.counters_named.push_back({of, name, unit, kind, 0});
    };
    add("", "not for the pipeline", "packets", WT_COUNTER_TOTAL);
    add("", "wrong header checksum", "packets", WT_COUNTER_TOTAL);
    for (const table_plan &t : p.plan.tables) {
        const char *name = t.name.c_str();
        add(name, "lookups", "packets", WT_COUNTER_TOTAL);
        add(name, "hits", "packets", WT_COUNTER_TOTAL);
        add(name, "checked", "lookups", WT_COUNTER_TOTAL);
        add(name, "wrong", "lookups", WT_COUNTER_ERROR);
        add(name, "entries", "entries", WT_COUNTER_LEVEL);
        if (t.kind == table_kind::exact) add(name, "places", "entries", WT_COUNTER_LEVEL);
        if (t.method == table_method::tss) add(name, "masks", "masks", WT_COUNTER_LEVEL);
        add(name, "memory", "bytes", WT_COUNTER_LEVEL);
        add(name, "built in", "us", WT_COUNTER_LEVEL);
        if (t.changes_per_s > 0) {
            add(name, "changes", "entries", WT_COUNTER_TOTAL);
            add(name, "commits", "commits", WT_COUNTER_TOTAL);
            add(name, "refused", "changes", WT_COUNTER_ERROR);
        }
        for (const char *colour : {"green", "yellow", "red"})
            if (t.action == table_action::meter) add(name, colour, "packets", WT_COUNTER_TOTAL);
    }
    p.counters_named.push_back({});
}

void read_table(const ma_table &t, const live_table &live, const table_plan &plan, bool owned,
                uint64_t *&to) {
    const table_counters &f = live.counters();
    for (const uint64_t each : {t.counts.lookups, t.counts.hits, t.counts.checked, t.counts.wrong})
        *to++ = each;
    // of a shared table once, whoever looks it up
    *to++ = owned ? f.rules.load() : 0;
    if (plan.kind == table_kind::exact) *to++ = owned ? f.places.load() : 0;
    if (plan.method == table_method::tss) *to++ = owned ? f.tuples.load() : 0;
    for (const auto *each : {&f.bytes, &f.build_us}) *to++ = owned ? each->load() : 0;
    if (plan.changes_per_s > 0)
        for (const auto *each : {&f.changes, &f.commits, &f.refused}) *to++ = owned ? each->load() : 0;
    for (const uint64_t colour : t.actions.colours)
        if (plan.action == table_action::meter) *to++ = colour;
}

bool reads_headers(const pipeline_plan &plan) {
    const auto of_headers = [](const key_field_plan &f) { return f.place != key_place::body; };
    return std::ranges::any_of(
        plan.tables, [&](const table_plan &t) { return std::ranges::any_of(t.key.fields, of_headers); });
}

std::unique_ptr<pipeline> open_pipeline(const wt_open &open) {
    const workload_plan *const workload = wt_workload(open);
    if (workload == nullptr || !workload->pipeline)
        throw refusal("there is no table", "[[workload.table]] in the scenario");
    auto p = std::make_unique<pipeline>(*workload->pipeline);
    p->body_offset = p->plan.body_offset;
    p->body_bytes = p->plan.body_bytes;
    p->inner = p->plan.inner;
    p->ipv6 = p->plan.ipv6;
    p->any_ip = p->inner || !reads_headers(p->plan);
    p->random = open.seed;
    p->table_count = static_cast<uint32_t>(p->plan.tables.size());
    const bool server = open.role == WT_SERVER;
    p->makes_frames = server && p->plan.traffic == traffic::frames;
    if (server) {
        p->steps = open.steps;
        for (uint32_t t = 0; t < p->table_count; t++) open_table(*p, open, t);
        name_steps(*p);
        name_counters(*p);
    }
    if (p->makes_frames || !server)
        for (const table_plan &t : p->plan.tables) open_source(*p, t);
    p->sources = p->keys.data();
    return p;
}

}  // namespace

}  // namespace wt

extern "C" {

int ma_open(const wt_open *open, void **state) {
    try {
        *state = static_cast<ma_pipeline *>(wt::open_pipeline(*open).release());
        return 0;
    } catch (const wt::refusal &why) {
        return wt_refuse(open, "%s%s%s", why.what(), why.remedy().empty() ? "" : ": ", why.remedy().c_str());
    } catch (const std::bad_alloc &) {
        return wt_refuse(open, "no memory for the pipeline");
    }
}

void ma_close(void *state) { delete &wt::of(state); }

const wt_step_name *ma_steps(void *state) {
    const auto &steps = wt::of(state).steps_named;
    return steps.empty() ? nullptr : steps.data();
}

const wt_counter *ma_counters(void *state) {
    const auto &counters = wt::of(state).counters_named;
    return counters.empty() ? nullptr : counters.data();
}

void ma_read_counters(void *state, uint64_t *values) {
    const wt::pipeline &p = wt::of(state);
    *values++ = p.passed_on;
    *values++ = p.bad_checksum;
    for (uint32_t t = 0; t < p.table_count; t++)
        wt::read_table(p.tables[t], *p.live[t], p.plan.tables[t], p.owned[t], values);
}
}
