// The options of a handler: its list, and the values that a plan gives them.
#pragma once

#include <windtunnel/handler.h>

#include <map>
#include <span>
#include <string>
#include <vector>

namespace wt {

// The handler's list without the entry that ends it.
std::span<const wt_option> handler_options(const wt_handler &table);

// "bytes", "count", "choice" or "text"; nullptr for any other number.
const char *option_type_name(uint32_t type);

// The words of a choice.
std::vector<std::string> option_choices(const wt_option &option);

// Every option of the handler once, in its order, with the value given or else its own. The values point into
// `given` and into the table. Refuses names that the handler does not have, numbers that are none, words
// outside the choices.
std::vector<wt_value> resolve_options(const wt_handler &table,
                                      const std::map<std::string, std::string> &given);

// Throws refusal where `value` is not what the option means; `who` leads the words.
void check_option_value(const std::string &who, const wt_option &option, const std::string &value);

}  // namespace wt
