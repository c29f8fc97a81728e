#include "handlers/loading/options.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "core/refusal.h"

namespace wt {

std::span<const wt_option> options_of(const wt_option *list) {
    size_t count = 0;
    if (list)
        while (list[count].name) ++count;
    return {list, count};
}

const char *option_type_name(uint32_t type) {
    switch (type) {
        case WT_BYTES: return "bytes";
        case WT_COUNT: return "count";
        case WT_CHOICE: return "choice";
        case WT_TEXT: return "text";
        case WT_FILE: return "file";
        default: return nullptr;
    }
}

std::vector<std::string> option_choices(const wt_option &option) {
    std::vector<std::string> words;
    std::istringstream all(option.choices);
    for (std::string word; std::getline(all, word, '|');) words.push_back(word);
    return words;
}

nlohmann::ordered_json option_json(const wt_option &option) {
    nlohmann::ordered_json choices;  // null but for a choice
    if (option.type == WT_CHOICE) choices = option_choices(option);
    return {{"name", option.name},
            {"type", option_type_name(option.type)},
            {"default", option.fallback},
            {"choices", choices},
            {"help", option.help}};
}

static std::string joined(const std::vector<std::string> &words) {
    std::string all;
    for (const std::string &word : words) all += (all.empty() ? "" : ", ") + word;
    return all;
}

static bool is_number(const std::string &value) {
    uint64_t number;
    const char *end = value.data() + value.size();
    const auto [stopped, error] = std::from_chars(value.data(), end, number);
    return error == std::errc() && stopped == end;
}

void check_option_value(const std::string &who, const wt_option &option, const std::string &value) {
    const std::string wrong = who + ": option " + option.name + " = \"" + value + "\" ";
    if (option.type == WT_CHOICE) {
        const auto choices = option_choices(option);
        if (std::ranges::find(choices, value) == choices.end())
            throw refusal(wrong + "is none of " + joined(choices));
    } else if (option.type != WT_TEXT && option.type != WT_FILE && !is_number(value)) {
        throw refusal(wrong + "is not a whole number" + (option.type == WT_BYTES ? " of bytes" : ""));
    }
}

std::vector<wt_value> resolve_options(const std::string &who, std::span<const wt_option> options,
                                      const std::map<std::string, std::string> &given) {
    for (const auto &[name, value] : given) {
        const auto found =
            std::ranges::find_if(options, [&name = name](const wt_option &o) { return name == o.name; });
        if (found == options.end()) {
            std::vector<std::string> names;
            for (const wt_option &option : options) names.push_back(option.name);
            throw refusal(who + " has no option '" + name + "'; it has " +
                          (names.empty() ? "none" : joined(names)));
        }
        check_option_value(who, *found, value);
    }
    std::vector<wt_value> values;
    for (const wt_option &option : options) {
        const auto found = given.find(option.name);
        values.push_back({option.name, found == given.end() ? option.fallback : found->second.c_str()});
    }
    return values;
}

}  // namespace wt
