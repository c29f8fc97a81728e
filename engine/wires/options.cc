#include "wires/options.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "core/refusal.h"

namespace wt {

namespace {

std::string joined(const std::vector<std::string> &words) {
    std::string all;
    for (const std::string &word : words) all += (all.empty() ? "" : ", ") + word;
    return all.empty() ? "none" : all;
}

void check_number(const std::string &wrong, const wt_wire_option &option, const std::string &value) {
    uint64_t number;
    const char *end = value.data() + value.size();
    const auto [stopped, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc() || stopped != end) throw refusal(wrong + "is not a whole number");
    if (number < option.least || number > option.most)
        throw refusal(wrong + "is not from " + std::to_string(option.least) + " to " +
                      std::to_string(option.most));
}

void check_words(const std::string &wrong, const wt_wire_option &option, const std::string &value) {
    const auto choices = words_of(option.choices);
    const auto given = option.type == WT_WIRE_CHOICE ? std::vector{value} : words_of(value.c_str());
    for (const std::string &word : given)
        if (std::ranges::find(choices, word) == choices.end())
            throw refusal(wrong + "is none of " + joined(choices));
}

}  // namespace

std::span<const wt_wire_option> wire_options(const wt_wire &about) {
    size_t count = 0;
    if (about.options)
        while (about.options[count].name) ++count;
    return {about.options, count};
}

std::span<const wt_wire_need> wire_needs(const wt_wire &about) {
    size_t count = 0;
    if (about.needs)
        while (about.needs[count].kind) ++count;
    return {about.needs, count};
}

std::vector<std::string> words_of(const char *choices) {
    std::vector<std::string> words;
    std::istringstream all(choices);
    for (std::string word; std::getline(all, word, '|');) words.push_back(word);
    return words;
}

void check_wire_value(const std::string &who, const wt_wire_option &option, const std::string &value) {
    const std::string wrong = who + ": option " + option.name + " = \"" + value + "\" ";
    switch (option.type) {
        case WT_WIRE_BYTES:
        case WT_WIRE_COUNT: return check_number(wrong, option, value);
        case WT_WIRE_BOOL:
            if (value != "true" && value != "false") throw refusal(wrong + "is neither true nor false");
            return;
        case WT_WIRE_CHOICE:
        case WT_WIRE_WORDS: return check_words(wrong, option, value);
        default:
            if (value.empty()) throw refusal(wrong + "is empty");
            if (option.most && value.size() > option.most)
                throw refusal(wrong + "is longer than " + std::to_string(option.most) + " letters");
    }
}

wire_values::wire_values(const std::string &who, const wt_wire &about,
                         const std::map<std::string, std::string> &given)
    : values_(given) {
    const auto options = wire_options(about);
    for (const auto &[name, value] : given) {
        const auto found =
            std::ranges::find_if(options, [&name = name](const wt_wire_option &o) { return name == o.name; });
        if (found == options.end()) {
            std::vector<std::string> names;
            for (const wt_wire_option &option : options) names.push_back(option.name);
            throw refusal(who + ": the wire " + about.name + " has no option '" + name + "'; it has " +
                          joined(names));
        }
        check_wire_value(who, *found, value);
    }
    for (const wt_wire_option &option : options) {
        if (option.fallback) values_.try_emplace(option.name, option.fallback);
        if ((option.flags & WT_WIRE_REQUIRED) && !values_.contains(option.name))
            throw refusal(who + ": option " + option.name + " is missing, but the wire " + about.name +
                          " needs it");
    }
}

uint64_t wire_values::number(const std::string &name) const {
    const std::string &value = text(name);
    uint64_t number = 0;
    std::from_chars(value.data(), value.data() + value.size(), number);  // checked when it was given
    return number;
}

}  // namespace wt
