// Apart from the other lines: who prints lines and runs nothing has no parts.
#include "parts/registry.h"
#include "report/lines.h"

namespace wt {

void add_steps(json &list, const stage &s, const stage_stats &stats, enum side side) {
    if (!s.steps) return;
    for (size_t i = 0; i < s.steps->names.size(); i++) {
        const wt_step &step = (*stats.steps)[i];
        const step_name &named = s.steps->names[i];
        json line = {{"endpoint", side_names[static_cast<int>(side)]},
                     {"stage", stage_names[static_cast<int>(s.place.stage)]},
                     {"index", s.place.index},
                     {"worker", s.worker},
                     {"step", named.name},
                     {"traffic", named.traffic},
                     {"cycles", step.cycles},
                     {"packets", step.packets},
                     {"stamps", step.stamps}};
        for (const part *p : all_parts())
            if (p->step_key) line[p->step_key] = s.steps->added_by == p && i >= s.steps->added_from;
        list.push_back(std::move(line));
    }
}

}  // namespace wt
