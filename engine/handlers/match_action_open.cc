// Opens the pipeline of one dispatcher, or on a client what writes the keys; names its steps and figures.
#include "handlers/match_action_open.h"

#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "core/clock.h"
#include "core/refusal.h"
#include "handlers/live_table.h"
#include "handlers/match_action.h"
#include "handlers/opening.h"

namespace wt {

namespace {

// The state: what the data path sees, and what keeps it alive.
struct pipeline : ma_pipeline {
    pipeline_plan plan;
    std::vector<std::shared_ptr<live_table>> live;
    std::vector<bool> owned;  // of the table's figures: one of its users shows them
    std::vector<ma_source> keys;
    std::vector<void *> memory;
    std::vector<wt_step_name> steps_named;
    std::vector<wt_figure> figures_named;

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

// Tables that several dispatchers of a workload share, for as long as one of them holds it. Main alone opens and closes.
std::shared_ptr<live_table> shared_table(uint32_t workload, const table_plan &plan, std::optional<int> cpu, bool *mine) {
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
    rte_meter_trtcm_params params{.cir = m.committed, .pir = m.peak, .cbs = m.burst, .pbs = m.burst};
    if (rte_meter_trtcm_profile_config(&a.profile, &params))
        throw refusal("table " + t.name + ": DPDK's meter does not take these rates", "a peak rate that is not below the committed one");
    a.meters = static_cast<rte_meter_trtcm *>(take(p, open, t, a.entries * sizeof *a.meters));
    for (uint64_t i = 0; i < a.entries; i++) {
        rte_meter_trtcm_config(a.meters + i, &a.profile);
        a.meters[i].time_tc = a.meters[i].time_tp = now();
    }
    p.held_ticks = &held_ticks;
}

void open_actions(pipeline &p, const wt_open &open, const table_plan &t, const live_table &live, ma_actions &a) {
    a.kind = t.action;
    a.entries = live.entries();
    a.data = live.data().data();
    if (t.action == MA_COUNT) a.counters = static_cast<ma_counter *>(take(p, open, t, a.entries * sizeof *a.counters));
    if (t.action == MA_METER) open_meters(p, open, t, a);
}

void open_table(pipeline &p, const wt_open &open, uint32_t number) {
    const table_plan &plan = p.plan.tables[number];
    bool mine = true;
    std::shared_ptr<live_table> live = plan.per_core ? std::make_shared<live_table>(plan, p.plan.change_cpu, open.numa_socket)
                                                     : shared_table(open.workload, plan, p.plan.change_cpu, &mine);
    ma_table &t = p.tables[number];
    t.key = plan.key;
    t.lookup = plan.lookup;
    t.miss_drops = plan.miss_drops;
    t.expected = plan.expected;
    t.rules = live->rules();
    open_actions(p, open, plan, *live, t.actions);
    if (wt_table_reader_open(live->table(), &t.reader))
        throw refusal("table " + plan.name + " has more readers than " + std::to_string(WT_TABLE_READERS), "fewer dispatchers");
    p.live.push_back(std::move(live));
    p.owned.push_back(mine);
    p.checks |= plan.steered && p.plan.traffic != traffic::none;
}

// What draws one table's keys. Throws refusal.
void open_source(pipeline &p, const table_plan &plan) {
    ma_source &s = p.keys.emplace_back();
    s.key = plan.key;
    s.expected = plan.expected;
    s.steered = plan.steered;
    if (!plan.steered) return;
    char words[512] = "";
    wt_generator generator;
    rules_list rules;
    int failed;
    if (plan.file.empty()) {
        failed = wt_generator_open(&generator, plan.kind, plan.key.bytes, plan.rules, plan.prefixes, plan.masks, plan.seed, words,
                                   sizeof words) ||
                 wt_keys_of_generator(&s.keys, &generator, plan.hit, plan.popularity, plan.exponent, words, sizeof words);
    } else {
        load_rules(plan, rules, generator);
        failed = wt_keys_of_rules(&s.keys, &rules, plan.hit, plan.popularity, plan.exponent, plan.seed, words, sizeof words);
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

// In the order in which ma_read_figures writes them.
void name_figures(pipeline &p) {
    const auto add = [&](const char *of, const char *name, const char *unit, wt_figure_kind kind) {
        p.figures_named.push_back({of, name, unit, kind, 0});
    };
    add("", "not for the pipeline", "packets", WT_COUNT_OF);
    add("", "wrong header checksum", "packets", WT_COUNT_OF);
    for (const table_plan &t : p.plan.tables) {
        const char *name = t.name.c_str();
        add(name, "lookups", "packets", WT_COUNT_OF);
        add(name, "hits", "packets", WT_COUNT_OF);
        add(name, "checked", "lookups", WT_COUNT_OF);
        add(name, "wrong", "lookups", WT_WRONG);
        add(name, "entries", "entries", WT_LEVEL_OF);
        if (t.kind == WT_EXACT) add(name, "places", "entries", WT_LEVEL_OF);
        if (t.method == WT_TSS) add(name, "masks", "masks", WT_LEVEL_OF);
        add(name, "memory", "bytes", WT_LEVEL_OF);
        add(name, "built in", "us", WT_LEVEL_OF);
        if (t.changes_per_s > 0) {
            add(name, "changes", "entries", WT_COUNT_OF);
            add(name, "commits", "commits", WT_COUNT_OF);
            add(name, "refused", "changes", WT_WRONG);
        }
        for (const char *colour : {"green", "yellow", "red"})
            if (t.action == MA_METER) add(name, colour, "packets", WT_COUNT_OF);
    }
    p.figures_named.push_back({});
}

void read_table(const ma_table &t, const live_table &live, const table_plan &plan, bool owned, uint64_t *&to) {
    const table_figures &f = live.figures();
    for (const uint64_t each : {t.counts.lookups, t.counts.hits, t.counts.checked, t.counts.wrong}) *to++ = each;
    // of a shared table once, whoever looks it up
    *to++ = owned ? f.rules.load() : 0;
    if (plan.kind == WT_EXACT) *to++ = owned ? f.places.load() : 0;
    if (plan.method == WT_TSS) *to++ = owned ? f.tuples.load() : 0;
    for (const auto *each : {&f.bytes, &f.build_us}) *to++ = owned ? each->load() : 0;
    if (plan.changes_per_s > 0)
        for (const auto *each : {&f.changes, &f.commits, &f.refused}) *to++ = owned ? each->load() : 0;
    for (const uint64_t colour : t.actions.colours)
        if (plan.action == MA_METER) *to++ = colour;
}

std::unique_ptr<pipeline> open_pipeline(const wt_open &open) {
    const char *text = wt_text(&open, "pipeline");
    if (*text == '\0') throw refusal("there is no table", "[[workload.table]] in the scenario");
    auto p = std::make_unique<pipeline>(read_pipeline(text));
    p->body_offset = p->plan.body_offset;
    p->body_bytes = p->plan.body_bytes;
    p->inner = p->plan.inner;
    p->random = open.seed;
    p->table_count = static_cast<uint32_t>(p->plan.tables.size());
    const bool server = open.role == WT_SERVER;
    p->makes_frames = server && p->plan.traffic == traffic::frames;
    if (server) {
        p->steps = open.steps;
        for (uint32_t t = 0; t < p->table_count; t++) open_table(*p, open, t);
        name_steps(*p);
        name_figures(*p);
    }
    if (p->makes_frames || !server)
        for (const table_plan &t : p->plan.tables) open_source(*p, t);
    p->sources = p->keys.data();
    return p;
}

}  // namespace

}  // namespace wt

extern "C" {

const wt_option ma_options[] = {{"pipeline", "", nullptr, "written from the scenario's [[workload.table]]", WT_TEXT, 0},
                                {nullptr, nullptr, nullptr, nullptr, 0, 0}};

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

const wt_figure *ma_figures(void *state) {
    const auto &figures = wt::of(state).figures_named;
    return figures.empty() ? nullptr : figures.data();
}

void ma_read_figures(void *state, uint64_t *values) {
    const wt::pipeline &p = wt::of(state);
    *values++ = p.not_ipv4;
    *values++ = p.bad_checksum;
    for (uint32_t t = 0; t < p.table_count; t++)
        wt::read_table(p.tables[t], *p.live[t], p.plan.tables[t], p.owned[t], values);
}
}
