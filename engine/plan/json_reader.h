// Strict reading of JSON: every value knows its path, and what is not as it must be is refused with it.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace wt {

// Parses a document: UTF-8, no key twice in one object, nesting bounded. Throws refusal, never a JSON
// exception.
nlohmann::ordered_json parse_json(std::string_view text);

// Text for a message: in quotes, cut to a readable length between characters.
std::string in_quotes(std::string_view text);

// One value of a document, and where it stands there ("endpoints[0].mtu"; empty for the whole document).
class json_value {
  public:
    json_value(const nlohmann::ordered_json &value, std::string path)
        : value_(value), path_(std::move(path)) {}

    const nlohmann::ordered_json &value() const { return value_; }
    bool is_null() const { return value_.is_null(); }
    json_value member(const std::string &key) const;
    [[noreturn]] void refuse(const std::string &why) const;

    // A whole number within the bounds, written as one: 1.0 is refused.
    template <typename T>
    T whole(uint64_t lowest = 0, uint64_t highest = std::numeric_limits<T>::max()) const {
        return static_cast<T>(whole_number(lowest, highest));
    }
    // A number from `lowest` (itself included, or not) to `highest`.
    double real(double lowest, double highest, bool with_lowest = true) const;
    bool truth() const;
    std::string text() const;  // no NUL inside

    // One of the words, as its position in `words`.
    template <typename Words>
    size_t word(const Words &words) const {
        const std::string given = text();
        std::string all;
        size_t i = 0;
        for (const std::string_view w : words) {
            if (w == given) return i;
            all += (i++ ? ", " : "") + std::string(w);
        }
        refuse(in_quotes(given) + " is none of " + all);
    }

    // One of the words, as the enum that has them in this order.
    template <typename Enum, typename Words>
    Enum choice(const Words &words) const {
        return static_cast<Enum>(word(words));
    }

    template <typename T>
    T one_of(std::initializer_list<T> numbers) const {
        std::string all;
        for (const T number : numbers) {
            if (value_ == number) return number;
            all += (all.empty() ? "" : ", ") + std::to_string(number);
        }
        refuse(shown() + " is none of " + all);
    }

    template <typename T>
    T power_of_two(uint64_t lowest, uint64_t highest) const {
        const T number = whole<T>(lowest, highest);
        if (!std::has_single_bit(number)) refuse(shown() + " is not a power of two");
        return number;
    }

    template <typename T>
    T multiple(uint64_t of, uint64_t lowest, uint64_t highest) const {
        const T number = whole<T>(lowest, highest);
        if (number % of != 0) refuse(shown() + " is not a multiple of " + std::to_string(of));
        return number;
    }

    // What `read` makes of each element.
    template <typename Read>
    auto list(Read read, size_t at_least = 0, size_t at_most = SIZE_MAX) const {
        std::vector<decltype(read(*this))> all;
        const size_t count = elements(at_least, at_most);
        for (size_t i = 0; i < count; i++)
            all.push_back(read(json_value(value_[i], path_ + "[" + std::to_string(i) + "]")));
        return all;
    }

    // What `read` makes of it, or nothing where it is null.
    template <typename Read>
    auto optional(Read read) const -> std::optional<decltype(read(*this))> {
        if (is_null()) return std::nullopt;
        return read(*this);
    }

    std::map<std::string, std::string> texts_by_name() const;

    // What `read` makes of each value of an object whose names are some of the words, by the enum that has
    // them in this order.
    template <typename Enum, typename Words, typename Read>
    auto by_word(const Words &words, Read read) const {
        if (!value_.is_object()) refuse(shown() + " is not an object");
        std::map<Enum, decltype(read(*this))> all;
        for (const auto &[name, unused] : value_.items()) {
            const json_value named = member(name);
            const nlohmann::ordered_json word = name;
            all.emplace(json_value(word, named.path_).template choice<Enum>(words), read(named));
        }
        return all;
    }

  private:
    uint64_t whole_number(uint64_t lowest, uint64_t highest) const;
    size_t elements(size_t at_least, size_t at_most) const;
    std::string shown() const;

    const nlohmann::ordered_json &value_;
    std::string path_;
};

// An object that is being read key by key; remembers which.
class json_object {
  public:
    explicit json_object(const json_value &value);
    json_value operator[](const char *key);  // refused where it is missing
    void refuse_unread() const;

  private:
    const json_value &value_;
    std::set<std::string> read_;
};

// What `read` makes of an object; every key must be there and every key must be read.
template <typename Read>
auto read_object(const json_value &value, Read read) {
    json_object object(value);
    auto result = read(object);
    object.refuse_unread();
    return result;
}

}  // namespace wt
