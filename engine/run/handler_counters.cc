#include "run/handler_counters.h"

namespace wt {

using json = nlohmann::ordered_json;

namespace {

constexpr const char *kinds[] = {nullptr, "count", "level", "wrong"};

std::vector<uint64_t> read_all(const handler_counters &of) {
    std::vector<uint64_t> values(of.before.size());
    of.handler->table().read_counters(of.handler->state(), values.data());
    return values;
}

// A counter counts from `before`; a level has no before.
void add(json &list, const handler_counters &of, const std::vector<uint64_t> &values,
         const std::vector<uint64_t> &before) {
    for (size_t i = 0; i < values.size(); i++) {
        const wt_counter &counter = of.handler->counters()[i];
        list.push_back({{"endpoint", side_names[static_cast<int>(of.side)]},
                        {"stage", stage_names[static_cast<int>(of.place.stage)]},
                        {"index", of.place.index},
                        {"of", counter.of},
                        {"name", counter.name},
                        {"unit", counter.unit},
                        {"kind", kinds[counter.kind]},
                        {"value", counter.kind == WT_COUNTER_LEVEL ? values[i] : values[i] - before[i]}});
    }
}

}  // namespace

json counters_of_window(std::deque<handler_counters> &all) {
    json list = json::array();
    for (handler_counters &of : all) {
        std::vector<uint64_t> values = read_all(of);
        add(list, of, values, of.before);
        of.before = std::move(values);
    }
    return list;
}

json counters_of_run(const std::deque<handler_counters> &all) {
    json list = json::array();
    for (const handler_counters &of : all)
        add(list, of, read_all(of), std::vector<uint64_t>(of.before.size()));
    return list;
}

}  // namespace wt
