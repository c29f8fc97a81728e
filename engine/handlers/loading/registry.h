// The built-in handlers: tables on the public header, just as a plug-in's.
#pragma once

#include <windtunnel/handler.h>

#include <cstdio>
#include <span>
#include <string_view>

namespace wt {

constexpr const char *kind_name(uint32_t kind) { return kind == WT_PACKET_HANDLER ? "packet" : "message"; }

std::span<const wt_handler *const> all_handlers();

// nullptr where no built-in of this kind has the name; names are unique within a kind.
const wt_handler *find_handler(wt_kind kind, std::string_view name);

// A JSON list, one object a handler: {"name", "kind", "help", "names_copies", "checks", "options": [{"name",
// "type", "default", "choices", "help"}]}.
void print_handlers(std::FILE *out, std::span<const wt_handler *const> handlers);

}  // namespace wt
