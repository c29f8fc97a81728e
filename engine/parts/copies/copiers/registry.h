// The copiers of this engine, by name.
#pragma once

#include <cstdio>
#include <span>
#include <string>

#include "parts/copies/copiers/copier.h"

namespace wt {

std::span<const copier *const> all_copiers();

// Throws refusal where none has the name.
const copier &copier_named(const std::string &name);

// Opens a channel; options that are not given have their own values. Throws refusal, led by the copier's
// name.
copy_channel open_copier(const std::string &name, copier_end end);

// A JSON list, one object a copier: src/windtunnel/engine/query.py says what is in it.
void print_copiers(std::FILE *out);

}  // namespace wt
