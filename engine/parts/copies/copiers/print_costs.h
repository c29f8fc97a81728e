// `windtunnel-engine --copy-costs`: measures what copies cost on this host, and prints it as JSON lines.
#pragma once

#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace wt {

// What is measured. As JSON it has a key for each member.
struct copy_costs_asked {
    std::vector<std::string>
        eal;  // arguments; lcore 0 measures, lcore 1 is for the thread of a software copier
    std::string engine;
    std::map<std::string, std::string> options;
    uint32_t depth, batch, rounds;
    uint64_t area_bytes;          // of the source, and of the destination
    std::vector<uint32_t> sizes;  // bytes
    std::optional<modelled_engine_plan> model;
};

// Throws refusal.
copy_costs_asked read_copy_costs_asked(const std::string &json);

// One line that says which copier it is, one a size and place of the bytes, one at the end. EAL must have
// started. Throws refusal.
void print_copy_costs(std::FILE *out, const copy_costs_asked &asked);

}  // namespace wt
