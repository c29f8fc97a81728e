#include "parts/swx/entries.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <istream>
#include <sstream>

#include "core/refusal.h"
#include "host/regular_file.h"
#include "parts/swx/blocks.h"

namespace wt {

namespace {

constexpr size_t most_words = 255;                // of a line, as DPDK reads it
constexpr uint32_t lowest_priority = 0x1ffffffe;  // rte_acl counts the other way, from 2^29 - 1 down to 1

using words = std::vector<std::string>;

words words_of(const std::string &text) {
    words all;
    std::istringstream in(text);
    for (std::string word; in >> word && !is_comment(word);) all.push_back(word);
    return all;
}

std::string form_of(const action_shape &action) {
    std::string text = action.name;
    for (const entry_number &argument : action.arguments)
        text += " " + argument.name + " <" + std::to_string(argument.bits) + " bits>";
    return text;
}

std::string form_of(const table_shape &table) {
    std::string text = "match";
    bool prioritised = false;
    for (const key_field &field : table.key) {
        text += " <" + std::to_string(field.bits) + " bits>";
        if (field.how != key_field::match::exact) text += "/<mask>";
        prioritised |= field.how == key_field::match::wildcard;
    }
    text += prioritised ? " [priority <0 is highest>] action " : " action ";
    for (size_t i = 0; i < table.actions.size(); i++) text += (i ? " | " : "") + form_of(table.actions[i]);
    return text;
}

[[noreturn]] void refuse(const table_shape &table, const entry_line &line, const std::string &what) {
    throw refusal(line.where() + ": " + what, "an entry of " + table.name + ": " + form_of(table));
}

[[noreturn]] void refuse(const selector_shape &selector, const entry_line &line, const std::string &what) {
    throw refusal(line.where() + ": " + what, "a member of " + selector.name + ": group <0 to " +
                                                  std::to_string(selector.groups - 1) +
                                                  "> member <32 bits> [weight <from 1>]");
}

// Hexadecimal or decimal, as DPDK reads it. Throws refusal.
template <class shape>
uint64_t number_in(const shape &table, const entry_line &line, const std::string &word, uint32_t bits) {
    const bool hex = word.starts_with("0x") || word.starts_with("0X");
    const char *begin = word.data() + (hex ? 2 : 0), *end = word.data() + word.size();
    uint64_t value = 0;
    const auto [stopped, failed] = std::from_chars(begin, end, value, hex ? 16 : 10);
    if (failed == std::errc::result_out_of_range) refuse(table, line, word + " has more than 64 bits");
    if (failed != std::errc() || stopped != end) refuse(table, line, "\"" + word + "\" is not a number");
    if (!hex && word.size() > 1 && word[0] == '0') refuse(table, line, word + " would be read as octal");
    if (bits < 64 && value >> bits)
        refuse(table, line, word + " has more than " + std::to_string(bits) + " bits");
    return value;
}

// What has more than 64 bits is written as its bytes, in hexadecimal.
void check_number(const table_shape &table, const entry_line &line, const std::string &word, uint32_t bits) {
    if (bits <= 64) {
        number_in(table, line, word, bits);
        return;
    }
    const bool prefixed = word.starts_with("0x") || word.starts_with("0X");
    const std::string digits = word.substr(prefixed ? 2 : 0);
    if (digits.empty() || !std::ranges::all_of(digits, [](unsigned char c) { return std::isxdigit(c) != 0; }))
        refuse(table, line, "\"" + word + "\" is not a hexadecimal number");
    if (digits.size() != bits / 4)
        refuse(table, line, word + " has not " + std::to_string(bits / 4) + " hexadecimal digits");
}

// DPDK writes a prefix as its mask, ones and then zeros.
void check_prefix(const table_shape &table, const entry_line &line, uint64_t mask, uint32_t bits) {
    const uint64_t zeros = ~mask & (bits < 64 ? (uint64_t{1} << bits) - 1 : UINT64_MAX);
    if ((zeros & (zeros + 1)) == 0) return;
    std::string meant;
    if (mask <= bits) {
        std::array<char, 17> hex{};
        std::to_chars(hex.data(), hex.data() + 16,
                      (bits < 64 ? (uint64_t{1} << bits) : 0) - (uint64_t{1} << (bits - mask)), 16);
        meant = "; the mask of a prefix of " + std::to_string(mask) + " bits is 0x" + hex.data();
    }
    refuse(table, line, "the mask of a prefix is ones and then zeros" + meant);
}

void check_field(const table_shape &table, const entry_line &line, const std::string &word,
                 const key_field &field) {
    const size_t slash = word.find('/');
    check_number(table, line, word.substr(0, slash), field.bits);
    if (slash == std::string::npos) return;
    const std::string mask = word.substr(slash + 1);
    if (field.how == key_field::match::exact)
        refuse(table, line, word + ": this field is matched exactly, it has no mask");
    check_number(table, line, mask, field.bits);
    if (field.how == key_field::match::lpm && field.bits <= 64)
        check_prefix(table, line, number_in(table, line, mask, field.bits), field.bits);
}

const action_shape &action_named(const table_shape &table, const entry_line &line, const std::string &name) {
    for (const action_shape &action : table.actions)
        if (action.name == name) return action;
    refuse(table, line, "table " + table.name + " has no action \"" + name + "\"");
}

void check_action(const table_shape &table, const entry_line &line, const words &all, size_t at,
                  bool is_default) {
    if (at >= all.size() || all[at] != "action") refuse(table, line, "`action` is wanted after the key");
    if (at + 1 >= all.size()) refuse(table, line, "the action's name is missing");
    const action_shape &action = action_named(table, line, all[at + 1]);
    if (!is_default && !action.for_entries)
        refuse(table, line, action.name + " is for this table's default alone (@defaultonly)");
    if (is_default && !action.for_default)
        refuse(table, line, action.name + " cannot be this table's default (@tableonly)");
    at += 2;
    for (const entry_number &argument : action.arguments) {
        if (at + 1 >= all.size() || all[at] != argument.name)
            refuse(table, line, "argument " + argument.name + " of " + action.name + " is missing");
        check_number(table, line, all[at + 1], argument.bits);
        at += 2;
    }
    if (at < all.size()) refuse(table, line, "\"" + all[at] + "\" is too much");
}

selector_member member_in(const selector_shape &selector, const entry_line &line, const words &all) {
    const bool weighted = all.size() == 6 && all[4] == "weight";
    if ((all.size() != 4 && !weighted) || all[0] != "group" || all[2] != "member")
        refuse(selector, line, "this is no member of a group");
    const auto number = [&](size_t at) {
        return static_cast<uint32_t>(number_in(selector, line, all[at], 32));
    };
    const selector_member member{number(1), number(3), weighted ? number(5) : 1};
    if (member.group >= selector.groups)
        refuse(selector, line, "selector " + selector.name + " has no group " + all[1]);
    if (member.weight == 0) refuse(selector, line, "a weight of 0: such a member would get no packets");
    return member;
}

class reader {
  public:
    reader(const std::vector<table_shape> &tables, const std::vector<selector_shape> &selectors,
           const entry_takers &take)
        : tables_(tables), selectors_(selectors), take_(take) {}

    void read(const std::string &file) {
        read_lines(file, [&](const entry_line &line, const words &all) {
            if (all[0] == "meter") return take_.meter(line, all);
            if (all[0] != "table" && all[0] != "selector") return one(line, all);
            table_ = selector_ = none;
            if (all[0] == "table")
                table_ = named(line, all, tables_);
            else
                selector_ = named(line, all, selectors_);
            if (all.size() > 2) entries_from(line, all);
        });
    }

  private:
    template <class taker>
    static void read_lines(const std::string &file, const taker &take) {
        auto opened = regular_file(file);
        if (!opened.is_open()) throw refusal(file + " cannot be read: " + std::strerror(errno));
        std::istream in(&opened);
        entry_line line{file, 0, {}};
        while (std::getline(in, line.text)) {
            line.number++;
            const words all = words_of(line.text);
            if (line.text.find('\0') != std::string::npos)
                throw refusal(line.where() + ": a zero byte: this is not a text file");
            if (all.size() > most_words)
                throw refusal(line.where() + ": more than " + std::to_string(most_words) + " words");
            if (!all.empty()) take(line, all);
        }
        if (in.bad()) throw refusal(line.where() + ": cannot be read");
    }

    template <class shape>
    static size_t named(const entry_line &line, const words &all, const std::vector<shape> &shapes) {
        const bool whole = all.size() == 2 || (all.size() == 4 && all[2] == "from");
        const std::string &kind = all[0];
        if (!whole)
            throw refusal(line.where() + ": a " + kind + " is named by `" + kind + " NAME` or `" + kind +
                          " NAME from FILE`");
        std::string names;
        for (size_t i = 0; i < shapes.size(); i++) {
            if (shapes[i].name == all[1]) return i;
            names += (i ? ", " : "") + shapes[i].name;
        }
        throw refusal(line.where() + ": the spec has no " + kind + " \"" + all[1] + "\"",
                      names.empty() ? "it has none" : "it has " + names);
    }

    void entries_from(const entry_line &line, const words &all) {
        const auto beside = std::filesystem::path(line.file).parent_path() / all[3];
        std::error_code unknown;
        if (!std::filesystem::is_regular_file(beside, unknown))
            throw refusal(line.where() + ": " + beside.string() + ": no such file",
                          "its path is relative to the file that names it");
        read_lines(beside.string(), [&](const entry_line &inner, const words &entry) { one(inner, entry); });
    }

    void one(const entry_line &line, const words &all) {
        if (selector_ != none)
            return take_.member(selector_, line, member_in(selectors_[selector_], line, all));
        if (table_ == none)
            throw refusal(line.where() + ": an entry before any table",
                          "write `table NAME` before its entries");
        check_entry(tables_[table_], line);
        take_.entry(table_, line, all[0] != "match");
    }

    static constexpr size_t none = SIZE_MAX;
    const std::vector<table_shape> &tables_;
    const std::vector<selector_shape> &selectors_;
    const entry_takers &take_;
    size_t table_ = none, selector_ = none;  // whose lines follow
};

}  // namespace

void check_entry(const table_shape &table, const entry_line &line) {
    const words all = words_of(line.text);
    if (all.empty() || all[0] != "match") {
        if (table.default_is_const)
            refuse(table, line, "the default of table " + table.name + " is const in the spec");
        return check_action(table, line, all, 0, true);
    }
    if (table.key.empty())
        refuse(table, line, "table " + table.name + " has no key: only its default can be set");
    if (all.size() < 1 + table.key.size())
        refuse(table, line, "the key has " + std::to_string(table.key.size()) + " fields");
    bool prefix = false;
    for (size_t i = 0; i < table.key.size(); i++) {
        if (all[1 + i] == "action" || all[1 + i] == "priority")
            refuse(table, line, "the key has " + std::to_string(table.key.size()) + " fields");
        check_field(table, line, all[1 + i], table.key[i]);
        prefix |= table.key[i].how == key_field::match::lpm;
    }
    size_t at = 1 + table.key.size();
    if (at < all.size() && all[at] == "priority") {
        if (at + 1 >= all.size()) refuse(table, line, "the priority is missing");
        if (prefix) refuse(table, line, "a table of prefixes has no priorities: the longest prefix wins");
        if (number_in(table, line, all[at + 1], 64) > lowest_priority)
            refuse(table, line,
                   "priority " + all[at + 1] + " is below the lowest, " + std::to_string(lowest_priority));
        at += 2;
    }
    check_action(table, line, all, at, false);
}

void read_entries(const std::string &file, const std::vector<table_shape> &tables,
                  const std::vector<selector_shape> &selectors, const entry_takers &take) {
    reader(tables, selectors, take).read(file);
}

}  // namespace wt
