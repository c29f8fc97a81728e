#include "flight/figures.h"

namespace wt {

using json = nlohmann::ordered_json;

namespace {

constexpr const char *kinds[] = {nullptr, "count", "level", "wrong"};

std::vector<uint64_t> read_all(const handler_figures &of) {
    std::vector<uint64_t> values(of.before.size());
    of.handler->table().read_figures(of.handler->state(), values.data());
    return values;
}

// A figure counts from `before`; a level has no before.
void add(json &list, const handler_figures &of, const std::vector<uint64_t> &values, const std::vector<uint64_t> &before) {
    for (size_t i = 0; i < values.size(); i++) {
        const wt_figure &figure = of.handler->figures()[i];
        list.push_back({{"endpoint", side_names[static_cast<int>(of.side)]},
                        {"stage", stage_names[static_cast<int>(of.place.stage)]},
                        {"index", of.place.index},
                        {"of", figure.of},
                        {"name", figure.name},
                        {"unit", figure.unit},
                        {"kind", kinds[figure.kind]},
                        {"value", figure.kind == WT_LEVEL_OF ? values[i] : values[i] - before[i]}});
    }
}

}  // namespace

json figures_of_window(std::deque<handler_figures> &all) {
    json list = json::array();
    for (handler_figures &of : all) {
        std::vector<uint64_t> values = read_all(of);
        add(list, of, values, of.before);
        of.before = std::move(values);
    }
    return list;
}

json figures_of_flight(const std::deque<handler_figures> &all) {
    json list = json::array();
    for (const handler_figures &of : all) add(list, of, read_all(of), std::vector<uint64_t>(of.before.size()));
    return list;
}

}  // namespace wt
