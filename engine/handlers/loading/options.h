// The options of a handler, or of what a part lists: its list, and the values that a plan gives them.
#pragma once

#include <windtunnel/handler.h>

#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace wt {

// A list without the entry that ends it; null: none.
std::span<const wt_option> options_of(const wt_option *list);

// "bytes", "count", "choice" or "text"; nullptr for any other number.
const char *option_type_name(uint32_t type);

// The words of a choice.
std::vector<std::string> option_choices(const wt_option &option);

// An option as a command that lists its owners prints it.
nlohmann::ordered_json option_json(const wt_option &option);

// Every option once, in its order, with the value given or else its own. The values point into `given` and
// into the list. Refuses names that are not there, numbers that are none, words outside the choices; `who`
// leads the words.
std::vector<wt_value> resolve_options(const std::string &who, std::span<const wt_option> options,
                                      const std::map<std::string, std::string> &given);

// Throws refusal where `value` is not what the option means; `who` leads the words.
void check_option_value(const std::string &who, const wt_option &option, const std::string &value);

}  // namespace wt
