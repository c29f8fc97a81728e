// Plans on a wire, for tests: its traits are its descriptor's.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "wires/ports.h"
#include "wires/registry.h"

namespace wt::test {

using wire_texts = std::map<std::string, std::string>;

// Puts an endpoint of a plan on the wire.
inline void put_on(nlohmann::ordered_json &endpoint, const std::string &name,
                   const wire_texts &options = {}) {
    const wt_wire &about = wire_named(name).about;
    wire_texts complete = options;
    for (const wt_wire_option &o : wire_options(about))
        if ((o.flags & WT_WIRE_REQUIRED) && o.example) complete.try_emplace(o.name, o.example);
    std::vector<std::string> traits;
    try {
        traits = traits_of(about, {name, about, complete});
    } catch (const std::exception &) {  // options that the test wants refused
        traits = traits_of(about);
    }
    endpoint["port"].update({{"wire", name}, {"options", complete}, {"traits", traits}});
}

}  // namespace wt::test
