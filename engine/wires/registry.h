// The wires of this engine, by name.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "wires/wire.h"

namespace wt {

// In the order of their names.
std::span<const wire *const> all_wires();

// nullptr where none has the name.
const wire *find_wire(std::string_view name);

// "no wire is called ...; there are ...", and a refusal of it.
std::string no_such_wire(std::string_view name);
const wire &wire_named(std::string_view name);
inline const wire &wire_of(const endpoint_plan &e) { return wire_named(e.port.wire); }

// The NUMA node of the device behind an endpoint's port, before it is opened; -1: there is none, or its node
// is not known. After EAL's start.
int node_of_device(const endpoint_plan &e);

// The words of its flags, as they stand in --wires; in a plan "timed" comes behind them where an option's
// value says so.
std::vector<std::string> traits_of(const wt_wire &about);
std::vector<std::string> traits_of(const wt_wire &about, const wire_values &values);

// Throws refusal, led by the wire's name, for a descriptor that contradicts itself or lacks what is required.
void check_wire(const wire &w);
// Of all, at the engine's start; and that no two have one name.
void check_wires();

// A JSON list, one object a wire: src/windtunnel/engine/query.py says what is in it.
void print_wires(std::FILE *out, std::span<const wire *const> wires);

}  // namespace wt
