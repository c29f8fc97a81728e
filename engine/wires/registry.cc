#include "wires/registry.h"

#include <algorithm>
#include <set>

#include "core/refusal.h"
#include "wires/all_wires.h"

namespace wt {

#define WT_DECLARE(name) extern const wire wire_##name;
#define WT_ADDRESS(name) &wire_##name,
WT_ALL_WIRES(WT_DECLARE)

std::span<const wire *const> all_wires() {
    static const std::vector<const wire *> all = [] {
        std::vector<const wire *> by_name = {WT_ALL_WIRES(WT_ADDRESS)};
        std::ranges::sort(by_name, {}, [](const wire *w) { return std::string_view(w->about.name); });
        return by_name;
    }();
    return all;
}

const wire *find_wire(std::string_view name) {
    const auto all = all_wires();
    const auto found = std::ranges::find_if(all, [&](const wire *w) { return w->about.name == name; });
    return found == all.end() ? nullptr : *found;
}

std::string no_such_wire(std::string_view name) {
    std::string names;
    for (const wire *w : all_wires()) names += (names.empty() ? "" : ", ") + std::string(w->about.name);
    return "no wire is called \"" + std::string(name) + "\"; there are " + names;
}

const wire &wire_named(std::string_view name) {
    if (const wire *found = find_wire(name)) return *found;
    throw refusal(no_such_wire(name), "`windtunnel wires` lists them");
}

int node_of_device(const endpoint_plan &e) {
    const wire &w = wire_of(e);
    if (w.node == nullptr) return -1;
    return w.node({std::string(w.about.name) + " wire", w.about, e.port.options});
}

void check_wires() {
    std::set<std::string> names;
    for (const wire *w : all_wires()) {
        check_wire(*w);
        if (!names.insert(w->about.name).second)
            throw refusal(std::string("two wires are called ") + w->about.name);
    }
}

}  // namespace wt
