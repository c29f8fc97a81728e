#include "parts/swx/groups.h"

#include <rte_swx_table_selector.h>

#include <cstring>

#include "core/refusal.h"

namespace wt {

std::vector<selector_shape> selectors_of(rte_swx_pipeline *pipeline) {
    rte_swx_ctl_pipeline_info all;
    rte_swx_ctl_pipeline_info_get(pipeline, &all);
    std::vector<selector_shape> selectors;
    for (uint32_t id = 0; id < all.n_selectors; id++) {
        rte_swx_ctl_selector_info info;
        rte_swx_ctl_selector_info_get(pipeline, id, &info);
        selectors.push_back({info.name, info.n_groups_max, info.n_members_per_group_max});
    }
    return selectors;
}

void selector_groups::take(size_t selector, const entry_line &line, const selector_member &member) {
    const selector_shape &shape = selectors_[selector];
    std::vector<listed> &group = groups_[selector][member.group];
    const std::string where =
        line.where() + ": group " + std::to_string(member.group) + " of selector " + shape.name;
    for (const listed &other : group)
        if (other.member.id == member.id)
            throw refusal(where + " has this member in line " + std::to_string(other.line));
    if (group.size() == shape.members)
        throw refusal(where + " is full: the spec gives a group " + std::to_string(shape.members) +
                      " members");
    group.push_back({member, line.number});
}

void selector_groups::set(rte_swx_pipeline *pipeline, const std::string &spec) const {
    rte_swx_ctl_pipeline_info all;
    rte_swx_ctl_pipeline_info_get(pipeline, &all);
    rte_swx_table_state *states = nullptr;
    rte_swx_pipeline_table_state_get(pipeline, &states);
    for (size_t id = 0; id < selectors_.size(); id++) {
        const std::string who = spec + ": selector " + selectors_[id].name;
        if (groups_[id].empty())
            throw refusal(who + " has no groups: each packet would go to member 0",
                          "write `selector " + selectors_[id].name +
                              "` into the file of the option tables, and below it lines as `group 0 member 1 "
                              "weight 1`");
        for (const auto &[group, members] : groups_[id]) {
            std::vector<rte_swx_table_selector_member> list;
            for (const listed &one : members) list.push_back({{}, one.member.id, one.member.weight});
            rte_swx_table_selector_group set;
            TAILQ_INIT(&set.members);
            for (rte_swx_table_selector_member &one : list) TAILQ_INSERT_TAIL(&set.members, &one, node);
            const int failed = rte_swx_table_selector_group_set(states[all.n_tables + id].obj, group, &set);
            if (failed)
                throw refusal(who + ": group " + std::to_string(group) + ": " + std::strerror(-failed));
        }
    }
}

}  // namespace wt
