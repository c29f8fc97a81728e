// The parts of this engine, and how the spine calls them.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "parts/part.h"

namespace wt {

std::span<const part *const> all_parts();

// nullptr if no part has a command of this name.
const part_command *find_command(std::string_view name);

// Calls a hook of every part that has it.
template <typename Hook, typename... Arguments>
void call_parts(Hook part::*hook, Arguments &&...arguments) {
    for (const part *p : all_parts())
        if (p->*hook) (p->*hook)(arguments...);
}

// What the first part returns that does not return false or null; if all do, false or null.
template <typename Result, typename... Parameters, typename... Arguments>
Result ask_parts(Result (*part::*hook)(Parameters...), Arguments &&...arguments) {
    for (const part *p : all_parts())
        if (p->*hook)
            if (const Result result = (p->*hook)(arguments...)) return result;
    return {};
}

}  // namespace wt
