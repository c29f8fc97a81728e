#include "parts/swx/counted.h"

#include <algorithm>
#include <cstdio>

namespace wt {

namespace {

constexpr uint32_t shown_ports = 16, shown_of_an_array = 8;

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

rte_swx_ctl_pipeline_info about(const pipeline &of) {
    rte_swx_ctl_pipeline_info all;
    rte_swx_ctl_pipeline_info_get(of.get(), &all);
    return all;
}

std::string element(const char *array, uint32_t index) {
    return std::string(array) + "[" + std::to_string(index) + "]";
}

uint64_t now_in(const uint64_t &counter) { return __atomic_load_n(&counter, __ATOMIC_RELAXED); }

}  // namespace

counted_pipeline::counted_pipeline(const pipeline &of)
    : of_(of), by_action_(about(of).n_actions), steps_(steps_of(of.tables())) {
    const rte_swx_ctl_pipeline_info all = about(of);
    add_drops();
    for (const pipeline_table &table : of.tables()) add_table(table);
    for (uint32_t id = 0; id < all.n_learners; id++) add_learner(id);
    for (uint32_t id = 0; id < all.n_selectors; id++) add_selector(id);
    add_ports();
    for (uint32_t id = 0; id < all.n_metarrays; id++) add_meters(id);
    for (uint32_t id = 0; id < all.n_regarrays; id++) add_registers(id);
    counters_.push_back({nullptr, nullptr, nullptr, 0, 0});
    if (not_shown_ > 0)
        std::fprintf(stderr, "swx: %zu more counters than a handler may have are not shown\n", not_shown_);
}

void counted_pipeline::add(const std::string &of, std::initializer_list<counter> counters, part read) {
    if (counters_.size() + counters.size() > WT_MAX_COUNTERS) {
        not_shown_ += counters.size();
        return;
    }
    const std::string &name = names_.emplace_back(of);
    for (const counter &one : counters)
        counters_.push_back({name.c_str(), one.name, one.unit, static_cast<uint32_t>(one.kind), 0});
    parts_.push_back(std::move(read));
}

void counted_pipeline::add_table(const pipeline_table &table) {
    add(table.shape.name,
        {{"hits", "packets", WT_COUNTER_TOTAL},
         {"misses", "packets", WT_COUNTER_TOTAL},
         {"entries", "entries", WT_COUNTER_LEVEL}},
        [this, &table](uint64_t *values) {
            rte_swx_table_stats stats = {0, 0, by_action_.data()};
            rte_swx_ctl_pipeline_table_stats_read(of_.get(), table.shape.name.c_str(), &stats);
            *values++ = stats.n_pkts_hit;
            *values++ = stats.n_pkts_miss;
            *values++ = table.entries;
            return values;
        });
}

void counted_pipeline::add_learner(uint32_t id) {
    rte_swx_ctl_learner_info info;
    rte_swx_ctl_learner_info_get(of_.get(), id, &info);
    add(info.name,
        {{"hits", "packets", WT_COUNTER_TOTAL},
         {"misses", "packets", WT_COUNTER_TOTAL},
         {"learned", "packets", WT_COUNTER_TOTAL},
         {"not learned", "packets", WT_COUNTER_TOTAL}},
        [this, name = std::string(info.name)](uint64_t *values) {
            rte_swx_learner_stats stats{};
            stats.n_pkts_action = by_action_.data();
            rte_swx_ctl_pipeline_learner_stats_read(of_.get(), name.c_str(), &stats);
            *values++ = stats.n_pkts_hit;
            *values++ = stats.n_pkts_miss;
            *values++ = stats.n_pkts_learn_ok;
            *values++ = stats.n_pkts_learn_err;
            return values;
        });
}

void counted_pipeline::add_selector(uint32_t id) {
    rte_swx_ctl_selector_info info;
    rte_swx_ctl_selector_info_get(of_.get(), id, &info);
    add(info.name, {{"selections", "packets", WT_COUNTER_TOTAL}},
        [this, name = std::string(info.name)](uint64_t *values) {
            rte_swx_pipeline_selector_stats stats{};
            rte_swx_ctl_pipeline_selector_stats_read(of_.get(), name.c_str(), &stats);
            *values++ = stats.n_pkts;
            return values;
        });
}

void counted_pipeline::add_ports() {
    const uint32_t ports = of_.ends().outs - 1;  // the last one is the drop
    for (uint32_t port = 0; port < std::min(ports, shown_ports); port++)
        add("port " + std::to_string(port), {{"sent", "packets", WT_COUNTER_TOTAL}},
            [this, port](uint64_t *values) {
                *values++ = now_in(of_.ends().out[port].packets);
                return values;
            });
    if (ports > shown_ports) not_shown_ += ports - shown_ports;
}

void counted_pipeline::add_meters(uint32_t id) {
    rte_swx_ctl_metarray_info info;
    rte_swx_ctl_metarray_info_get(of_.get(), id, &info);
    for (uint32_t i = 0; i < std::min(info.size, shown_of_an_array); i++)
        add(element(info.name, i),
            {{"green", "packets", WT_COUNTER_TOTAL},
             {"yellow", "packets", WT_COUNTER_TOTAL},
             {"red", "packets", WT_COUNTER_TOTAL}},
            [this, i, name = std::string(info.name)](uint64_t *values) {
                rte_swx_ctl_meter_stats stats{};
                rte_swx_ctl_meter_stats_read(of_.get(), name.c_str(), i, &stats);
                for (const rte_color color : {RTE_COLOR_GREEN, RTE_COLOR_YELLOW, RTE_COLOR_RED})
                    *values++ = stats.n_pkts[color];
                return values;
            });
}

void counted_pipeline::add_registers(uint32_t id) {
    rte_swx_ctl_regarray_info info;
    rte_swx_ctl_regarray_info_get(of_.get(), id, &info);
    for (uint32_t i = 0; i < std::min(info.size, shown_of_an_array); i++)
        add(element(info.name, i), {{"value", "", WT_COUNTER_LEVEL}},
            [this, i, name = std::string(info.name)](uint64_t *values) {
                *values = 0;
                rte_swx_ctl_pipeline_regarray_read(of_.get(), name.c_str(), i, values);
                return values + 1;
            });
}

void counted_pipeline::add_drops() {
    const wt_swx_ends &ends = of_.ends();
    const std::pair<const char *, const uint64_t *> drops[] = {
        {"dropped by the spec", &ends.out[ends.outs - 1].packets},
        {"too short", &ends.too_short},
        {"no headroom", &ends.no_headroom},
        {"no such port", &ends.no_port},
        {"stuck", &ends.stuck}};
    for (const auto &[name, counter] : drops)
        add("", {{name, "packets", WT_COUNTER_TOTAL}}, [counter = counter](uint64_t *values) {
            *values++ = now_in(*counter);
            return values;
        });
}

}  // namespace wt
