// A copier of the user's own, in a shared object (windtunnel/copier.h).
//
// Its channel believes nothing that it says. What it takes and reports is bounded, and a copier that breaks a
// rule is not called again: its copies do not end any more, the timeout gives it up, and the CPU copies.
#pragma once

#include <windtunnel/copier.h>

#include <memory>
#include <string>

#include "parts/copies/copiers/copier.h"

namespace wt {

// A table, and the shared object that it lives in for as long as anyone holds it.
using copier_table = std::shared_ptr<const wt_copier>;

// Loads a shared object and checks its table. Throws refusal: what load_table refuses, a missing name, help
// or hook, an unknown kind, a depth of 0, an option without words. Its initialisers run here.
copier_table load_copier(const std::string &path);

// Opens a channel. Throws refusal with the copier's own words, led by `path`, or where its options cannot be.
copy_channel open_plugin(const std::string &path, copier_table table, const copier_end &end);

}  // namespace wt
