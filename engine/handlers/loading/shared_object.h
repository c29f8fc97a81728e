// A plug-in: a shared object outside the tree that exports one table, of handlers or of something else. What
// is the same whatever the table is for.
#pragma once

#include <windtunnel/option.h>

#include <cstdint>
#include <memory>
#include <string>

namespace wt {

// What a table is for, and what this engine takes for one. Each begins with its ABI and its size, two
// uint32_t.
struct plugin_kind {
    const char *noun;     // "handler"
    const char *symbol;   // that a shared object exports
    const char *header;   // that says what is required
    const char *example;  // a folder that shows how to build one
    uint32_t abi, size;
};

// The table of a shared object, which stays loaded for as long as anyone holds it. Only ABI and size are
// checked. Throws refusal: no such file, another user may replace it, no shared object, no symbol, another
// ABI, a wrong size. Its initialisers run here.
std::shared_ptr<const void> load_table(const plugin_kind &kind, const std::string &path);

// Checks that come before anything else of a table is believed; `who` leads the words of the refusal.
void check_layout(const plugin_kind &kind, const std::string &who, uint32_t abi, uint32_t size);

// Throws refusal where `there` is false.
void require(const plugin_kind &kind, bool there, const std::string &who, const std::string &what);

// Each option of a list has what it must have, and its default is a value of it.
void check_options(const plugin_kind &kind, const std::string &who, const wt_option *list);

// Whether a scenario means a file by this name, not something built in.
inline bool is_path(const std::string &name) { return name.find('/') != std::string::npos; }

}  // namespace wt
