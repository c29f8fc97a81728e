// The copiers of this engine, by name.
#pragma once

#include <cstdio>
#include <span>
#include <string>

#include "parts/copies/copiers/copier.h"

namespace wt {

std::span<const copier *const> all_copiers();

// Opens a channel of the copier that a plan names: by its path where the name has a slash, else a built-in
// one. Options that are not given have their own values. Throws refusal, led by the copier's name.
copy_channel open_copier(const std::string &name, copier_end end);

// A JSON list, one object a copier: src/windtunnel/parts/copies/query.py says what is in it.
void print_copiers(std::FILE *out);

// The same of one in a shared object. Throws refusal.
void print_copier_in(std::FILE *out, const std::string &path);

}  // namespace wt
