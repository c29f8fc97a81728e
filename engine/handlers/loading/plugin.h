// Handlers by name: built in, or in a shared object outside the tree.
#pragma once

#include <windtunnel/handler.h>

#include <memory>
#include <string>

namespace wt {

// A table, and the shared object that it lives in for as long as anyone holds it.
using handler_table = std::shared_ptr<const wt_handler>;

// Loads a shared object and checks its table. Throws refusal: no such file, no shared object, no symbol
// `wt_handler`, another ABI, a wrong size, a missing hook, an option without words. Its initialisers run
// here.
handler_table load_plugin(const std::string &path);

// What every table must hold, a plug-in's and a built-in one; `who` leads the words of the refusal.
void check_table(const std::string &who, const wt_handler &table);

// What a plan's `name` means: a path where it has a slash, else a built-in. Throws refusal, also where the
// kind is not `kind`.
handler_table handler_named(wt_kind kind, const std::string &name);

}  // namespace wt
