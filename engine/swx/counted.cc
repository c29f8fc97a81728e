#include "swx/counted.h"

#include <algorithm>

namespace wt {

namespace {

constexpr uint32_t counters_a_table = 3, counters_of_all = 5;
constexpr uint32_t most_tables = (WT_MAX_COUNTERS - counters_of_all - 1) / counters_a_table;

std::vector<wt_step_name> steps_of(const std::vector<pipeline_table> &tables) {
    if (tables.empty()) return {{"pipeline", 0, 0}, {nullptr, 0, 0}};
    std::vector<wt_step_name> steps = {{"parser", 0, 0}, {"control", 0, 0}, {"deparser", 0, 0}};
    const size_t room = WT_MAX_STEPS - steps.size();
    for (size_t i = 0; i < std::min(tables.size(), room); i++)
        steps.push_back(
            {i + 1 == room && tables.size() > room ? "more tables" : tables[i].shape.name.c_str(), 0, 0});
    steps.push_back({nullptr, 0, 0});
    return steps;
}

std::vector<wt_counter> counters_of(const std::vector<pipeline_table> &tables, uint32_t shown) {
    std::vector<wt_counter> counters;
    for (uint32_t i = 0; i < shown; i++) {
        const char *name = tables[i].shape.name.c_str();
        counters.push_back({name, "hits", "packets", WT_COUNTER_TOTAL, 0});
        counters.push_back({name, "misses", "packets", WT_COUNTER_TOTAL, 0});
        counters.push_back({name, "entries", "entries", WT_COUNTER_LEVEL, 0});
    }
    for (const char *name : {"dropped by the spec", "too short", "no headroom", "no such port", "stuck"})
        counters.push_back({"", name, "packets", WT_COUNTER_TOTAL, 0});
    counters.push_back({nullptr, nullptr, nullptr, 0, 0});
    return counters;
}

uint32_t actions_of(const pipeline &of) {
    rte_swx_ctl_pipeline_info about;
    rte_swx_ctl_pipeline_info_get(of.get(), &about);
    return about.n_actions;
}

}  // namespace

counted_pipeline::counted_pipeline(const pipeline &of)
    : of_(of),
      shown_tables_(static_cast<uint32_t>(std::min<size_t>(of.tables().size(), most_tables))),
      by_action_(actions_of(of)),
      steps_(steps_of(of.tables())),
      counters_(counters_of(of.tables(), shown_tables_)) {}

void counted_pipeline::read(uint64_t *values) {
    for (uint32_t i = 0; i < shown_tables_; i++) {
        const pipeline_table &table = of_.tables()[i];
        rte_swx_table_stats stats = {0, 0, by_action_.data()};
        rte_swx_ctl_pipeline_table_stats_read(of_.get(), table.shape.name.c_str(), &stats);
        *values++ = stats.n_pkts_hit;
        *values++ = stats.n_pkts_miss;
        *values++ = table.entries;
    }
    const wt_swx_ends &ends = of_.ends();
    const uint64_t &dropped = ends.out[ends.outs - 1].packets;
    for (const uint64_t *counter : {&dropped, &ends.too_short, &ends.no_headroom, &ends.no_port, &ends.stuck})
        *values++ = __atomic_load_n(counter, __ATOMIC_RELAXED);
}

}  // namespace wt
