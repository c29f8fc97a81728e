#include "parts/copies/copiers/registry.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/refusal.h"
#include "handlers/loading/options.h"
#include "parts/copies/copiers/all_copiers.h"

namespace wt {

#define WT_DECLARE(name) extern const copier copier_##name;
#define WT_ADDRESS(name) &copier_##name,
WT_ALL_COPIERS(WT_DECLARE)

std::span<const copier *const> all_copiers() {
    static const copier *const all[] = {WT_ALL_COPIERS(WT_ADDRESS)};
    return all;
}

const copier &copier_named(const std::string &name) {
    const auto all = all_copiers();
    const auto found = std::ranges::find_if(all, [&](const copier *c) { return c->name == name; });
    if (found != all.end()) return **found;
    std::string names;
    for (const copier *c : all) names += (names.empty() ? "" : ", ") + std::string(c->name);
    throw refusal("no copier is called \"" + name + "\"; there are " + names);
}

copy_channel open_copier(const std::string &name, copier_end end) {
    const copier &kind = copier_named(name);
    if (end.depth > kind.most_depth)
        throw refusal(name + ": " + std::to_string(end.depth) + " copies at once, it takes at most " +
                          std::to_string(kind.most_depth),
                      "use a smaller depth");
    std::map<std::string, std::string> all;
    for (const auto &[option, value] : resolve_options(name, options_of(kind.options), end.options))
        all[option] = value;
    end.options = std::move(all);
    return kind.open(end);
}

static nlohmann::ordered_json text_or_null(const char *text) {
    return text ? nlohmann::ordered_json(text) : nlohmann::ordered_json();
}

void print_copiers(std::FILE *out) {
    auto list = nlohmann::ordered_json::array();
    for (const copier *c : all_copiers()) {
        auto options = nlohmann::ordered_json::array();
        for (const wt_option &option : options_of(c->options)) options.push_back(option_json(option));
        list.push_back({{"name", c->name},
                        {"help", c->help},
                        {"thread_option", text_or_null(c->thread_option)},
                        {"inner_option", text_or_null(c->inner_option)},
                        {"profile_option", text_or_null(c->profile_option)},
                        {"most_depth", c->most_depth},
                        {"options", options}});
    }
    std::fprintf(out, "%s\n", list.dump(2).c_str());
}

}  // namespace wt
