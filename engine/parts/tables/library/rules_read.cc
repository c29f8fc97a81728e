// Reading rules from a text, a rule a line. What is wrong is said with its line.
#include <arpa/inet.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <istream>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "core/refusal.h"
#include "host/regular_file.h"
#include "parts/tables/library/rules.h"
#include "parts/tables/library/words.h"

namespace {

using wt::refusal;

constexpr uint64_t most_rules = 1u << 24;

// A rule of the file, as it grows.
struct list {
    uint32_t kind, key_bytes;
    std::vector<uint8_t> keys, masks, lengths;
    std::vector<uint32_t> values;
    std::string source;           // the file that they were written in
    bool is_copy;                 // of `source`: each rule brings its line there
    std::vector<uint32_t> lines;  // where each stands in the source
};

std::string quoted(std::string_view text) { return '"' + std::string(text.substr(0, 60)) + '"'; }

std::string_view trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Up to the separator; the rest stays in `text`. False where there is none.
bool split(std::string_view *text, char separator, std::string_view *before) {
    const auto at = text->find(separator);
    if (at == std::string_view::npos) return false;
    *before = trimmed(text->substr(0, at));
    *text = trimmed(text->substr(at + 1));
    return true;
}

uint32_t number_of(std::string_view text, const char *what, uint32_t most) {
    uint32_t number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed == std::errc() && end == text.data() + text.size() && number <= most) return number;
    throw refusal(quoted(text) + " is not a " + what + " of 0 to " + std::to_string(most));
}

void append_hex(std::string_view text, uint32_t bytes, const char *what, std::vector<uint8_t> *to) {
    if (text.size() != size_t{2} * bytes)
        throw refusal(quoted(text) + " is not a " + what + ": it has " + std::to_string(text.size()) +
                      " digits, not " + std::to_string(2 * bytes));
    for (uint32_t i = 0; i < bytes; ++i) {
        uint8_t byte = 0;
        const char *begin = text.data() + size_t{2} * i;
        const auto [end, failed] = std::from_chars(begin, begin + 2, byte, 16);
        if (failed != std::errc() || end != begin + 2)
            throw refusal(quoted(text) + " is not a " + what + ": " + quoted(text.substr(size_t{2} * i, 2)) +
                          " is not a hexadecimal byte");
        to->push_back(byte);
    }
}

uint32_t address_of(std::string_view text) {
    uint32_t address = 0;
    std::string_view rest = text, byte;
    for (int i = 0; i < 4; ++i) {
        if (i < 3 ? !split(&rest, '.', &byte) : (byte = rest).empty())
            throw refusal(quoted(text) + " is not an IPv4 address, as in 10.0.0.0");
        address = address << 8 | number_of(byte, "byte of an IPv4 address", 255);
    }
    return address;
}

// "24", or "255.255.255.0".
uint8_t length_of(std::string_view text) {
    if (text.find('.') == std::string_view::npos)
        return static_cast<uint8_t>(number_of(text, "prefix length", 32));
    const uint32_t mask = address_of(text);
    const uint32_t open = ~mask;
    if (open & (open + 1))
        throw refusal("mask " + quoted(text) +
                      " is not contiguous: LPM takes only prefixes; a table of kind ternary takes any mask");
    return static_cast<uint8_t>(mask ? 32 - __builtin_popcount(open) : 0);
}

void append_prefix(std::string_view address, std::string_view length, list *all) {
    uint8_t bytes[16];
    if (all->key_bytes == sizeof bytes) {
        if (inet_pton(AF_INET6, std::string(address).c_str(), bytes) != 1)
            throw refusal(quoted(address) + " is not an IPv6 address, as in 2001:db8::");
        all->lengths.push_back(static_cast<uint8_t>(number_of(length, "prefix length", 128)));
    } else {
        const uint32_t four = __builtin_bswap32(address_of(address));
        std::memcpy(bytes, &four, sizeof four);
        all->lengths.push_back(length_of(length));
    }
    all->keys.insert(all->keys.end(), bytes, bytes + all->key_bytes);
}

void append_key(std::string_view text, list *all) {
    std::string_view key;
    if (all->kind == WT_EXACT) return append_hex(text, all->key_bytes, "key", &all->keys);
    if (!split(&text, '/', &key))
        throw refusal(quoted(text) + (all->kind == WT_LPM ? " has no length, as in 10.0.0.0/8"
                                                          : " has no mask, as in 0a000000/ff000000"));
    if (all->kind == WT_TERNARY) {
        append_hex(key, all->key_bytes, "key", &all->keys);
        return append_hex(text, all->key_bytes, "mask", &all->masks);
    }
    append_prefix(key, text, all);
}

// Checks the rule that was appended last.
void check_last(const list &all) {
    const size_t at = all.values.size() - 1, bytes = all.key_bytes;
    const wt_rule rule{all.keys.data() + at * bytes,
                       all.masks.empty() ? nullptr : all.masks.data() + at * bytes,
                       all.lengths.empty() ? 0u : all.lengths[at], 1, all.values[at]};
    char text[256];
    if (wt_rule_check(all.kind, all.key_bytes, &rule, text, sizeof text) != 0) throw refusal(text);
}

void append_line(std::string_view line, uint64_t number, list *all) {
    std::string_view rest = trimmed(line.substr(0, line.find('#'))), key;
    if (rest.empty()) return;
    if (all->values.size() == most_rules) throw refusal("more than 2^24 rules");
    if (!split(&rest, ',', &key))
        throw refusal(quoted(rest) + " is not a rule: it has no comma before the value");
    std::string_view value = rest;
    if (all->is_copy && !split(&rest, ',', &value)) throw refusal(quoted(rest) + " has no line behind it");
    append_key(key, all);
    all->values.push_back(number_of(value, "value", INT32_MAX - 1));
    all->lines.push_back(all->is_copy ? number_of(rest, "line", UINT32_MAX) : static_cast<uint32_t>(number));
    check_last(*all);
}

// The file that the first line names, where the text is a copy.
bool take_source(std::string_view line, list *all) {
    constexpr std::string_view from = "from ";
    if (!line.starts_with(from)) return false;
    all->source = line.substr(from.size());
    return all->is_copy = true;
}

list read_list(const char *path, uint32_t kind, uint32_t key_bytes) {
    list all{kind, key_bytes, {}, {}, {}, {}, path, false, {}};
    auto opened = wt::regular_file(path);
    if (!opened.is_open()) throw refusal(std::string(path) + ": " + std::strerror(errno));
    std::istream file(&opened);
    std::string line;
    for (uint64_t number = 1; std::getline(file, line); ++number) try {
            if (number != 1 || !take_source(line, &all)) append_line(line, number, &all);
        } catch (const refusal &problem) {
            throw refusal(std::string(path) + ":" + std::to_string(number) + ": " + problem.what());
        }
    if (file.bad()) throw refusal(std::string(path) + ": it cannot be read");
    return all;
}

template <typename T>
void hand_over(const std::vector<T> &from, T *to) {
    if (to && !from.empty()) std::memcpy(to, from.data(), from.size() * sizeof(T));
}

void check_clash(const list &all, const wt_rules &rules) {
    uint64_t pair[2];
    if (!wt_rules_clash(&rules, pair)) return;
    throw refusal(all.source + ":" + std::to_string(all.lines[pair[1]]) + ": " +
                  (all.kind == WT_LPM     ? "this prefix"
                   : all.kind == WT_EXACT ? "this key"
                                          : "this key with this mask") +
                  " stands in line " + std::to_string(all.lines[pair[0]]) + " already");
}

void read_rules(const char *path, uint32_t kind, uint32_t key_bytes, wt_rules *rules) {
    if (kind == WT_LPM && key_bytes != 4 && key_bytes != 16)
        throw refusal("prefixes have 4 or 16 bytes, not " + std::to_string(key_bytes));
    const list all = read_list(path, kind, key_bytes);
    char text[256];
    if (wt_rules_open(rules, kind, key_bytes, all.values.size(), text, sizeof text) != 0)
        throw refusal(std::string(path) + ": " + text);
    rules->count = all.values.size();
    hand_over(all.keys, rules->keys);
    hand_over(all.masks, rules->masks);
    hand_over(all.lengths, rules->lengths);
    hand_over(all.values, rules->values);
    if (rules->priorities)  // the first line wins
        for (uint64_t i = 0; i < rules->count; ++i)
            rules->priorities[i] = static_cast<uint32_t>(rules->count - i);
    rules->source = strdup(all.source.c_str());
    rules->lines = static_cast<uint32_t *>(std::malloc(all.lines.size() * sizeof *rules->lines + 1));
    if (!rules->source || !rules->lines) throw std::bad_alloc();
    hand_over(all.lines, rules->lines);
    check_clash(all, *rules);
}

}  // namespace

int wt_rules_read(const char *path, uint32_t kind, uint32_t key_bytes, wt_rules *rules, char *error,
                  size_t error_size) {
    const wt_words words{error, error_size};
    *rules = {};
    try {
        read_rules(path, kind, key_bytes, rules);
        return 0;
    } catch (const std::exception &problem) {  // bad_alloc too: the file is larger than memory
        wt_rules_close(rules);
        return wt_say(&words, "%s", problem.what());
    }
}
