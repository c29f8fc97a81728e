#include "parts/copies/copiers/registry.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/refusal.h"
#include "handlers/loading/options.h"
#include "handlers/loading/shared_object.h"
#include "parts/copies/copiers/all_copiers.h"
#include "parts/copies/copiers/plugin.h"

namespace wt {

#define WT_DECLARE(name) extern const copier copier_##name;
#define WT_ADDRESS(name) &copier_##name,
WT_ALL_COPIERS(WT_DECLARE)

std::span<const copier *const> all_copiers() {
    static const copier *const all[] = {WT_ALL_COPIERS(WT_ADDRESS)};
    return all;
}

static const copier &built_in(const std::string &name) {
    const auto all = all_copiers();
    const auto found = std::ranges::find_if(all, [&](const copier *c) { return c->name == name; });
    if (found != all.end()) return **found;
    std::string names;
    for (const copier *c : all) names += (names.empty() ? "" : ", ") + std::string(c->name);
    throw refusal("no copier is called \"" + name + "\"; there are " + names,
                  "name your own copier by its path: ./" + name + ".so");
}

static void check_depth(const std::string &name, uint32_t depth, uint32_t most) {
    if (depth > most)
        throw refusal(
            name + ": " + std::to_string(depth) + " copies at once, it takes at most " + std::to_string(most),
            "use a smaller depth");
}

static copy_channel open_built_in(const std::string &name, copier_end end) {
    const copier &kind = built_in(name);
    check_depth(name, end.depth, kind.most_depth);
    std::map<std::string, std::string> all;
    for (const auto &[option, value] : resolve_options(name, options_of(kind.options), end.options))
        all[option] = value;
    end.options = std::move(all);
    return kind.open(end);
}

copy_channel open_copier(const std::string &name, copier_end end) {
    if (!is_path(name)) return open_built_in(name, std::move(end));
    copier_table table = load_copier(name);
    check_depth(name, end.depth, table->most_depth);
    return open_plugin(name, std::move(table), end);
}

static nlohmann::ordered_json text_or_null(const char *text) {
    return text ? nlohmann::ordered_json(text) : nlohmann::ordered_json();
}

// `of`: a built-in copier, or one of the user's own, which has no options that the engine knows.
static nlohmann::ordered_json copier_json(const copier &of) {
    auto options = nlohmann::ordered_json::array();
    for (const wt_option &option : options_of(of.options)) options.push_back(option_json(option));
    return {{"name", of.name},
            {"help", of.help},
            {"thread_option", text_or_null(of.thread_option)},
            {"inner_option", text_or_null(of.inner_option)},
            {"profile_option", text_or_null(of.profile_option)},
            {"most_depth", of.most_depth},
            {"options", options}};
}

// A plug-in's words may be in any encoding: what is not UTF-8 is replaced, not refused.
static void print_list(std::FILE *out, const nlohmann::ordered_json &list) {
    const std::string text = list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    std::fprintf(out, "%s\n", text.c_str());
}

void print_copiers(std::FILE *out) {
    auto list = nlohmann::ordered_json::array();
    for (const copier *c : all_copiers()) list.push_back(copier_json(*c));
    print_list(out, list);
}

void print_copier_in(std::FILE *out, const std::string &path) {
    const copier_table table = load_copier(path);
    const copier described{
        .name = table->name, .help = table->help, .most_depth = table->most_depth, .options = table->options};
    print_list(out, nlohmann::ordered_json::array({copier_json(described)}));
}

}  // namespace wt
