// The options of a wire: its list, and the values that a plan gives them.
#pragma once

#include <windtunnel/wire.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace wt {

// The wire's list without the entry that ends it.
std::span<const wt_wire_option> wire_options(const wt_wire &about);
std::span<const wt_wire_need> wire_needs(const wt_wire &about);

// The words of a choice.
std::vector<std::string> words_of(const char *choices);

// Throws refusal where `value` is not what the option means; `who` leads the words.
void check_wire_value(const std::string &who, const wt_wire_option &option, const std::string &value);

// Every option of a wire that has a value, the given one or its own.
class wire_values {
  public:
    // Refuses names that the wire does not have, values that are none, and what is missing; `who` leads the
    // words.
    wire_values(const std::string &who, const wt_wire &about,
                const std::map<std::string, std::string> &given);

    const std::string &text(const std::string &name) const { return values_.at(name); }
    uint64_t number(const std::string &name) const;
    bool truth(const std::string &name) const { return text(name) == "true"; }
    std::vector<std::string> words(const std::string &name) const { return words_of(text(name).c_str()); }

  private:
    std::map<std::string, std::string> values_;
};

}  // namespace wt
