// The client's plan: a JSON document, read strictly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/dialect.h"

namespace wt::client {

struct load_phase {
    std::string name;
    uint64_t duration_ns;
    double per_s;  // requests; 0: none
    bool poisson;
};

struct target_plan {
    std::string name, address;
    protocol dialect;
    uint16_t port;
    uint32_t connections, inflight;  // inflight: at most this many requests wait on one connection
    uint64_t keys;
    uint32_t value, get_percent;
    bool load_keys;
    uint64_t seed;
    std::vector<load_phase> phases;
};

struct client_plan {
    int cpu;
    uint64_t window_ns, patience_ns;
    std::vector<target_plan> targets;

    uint64_t duration_ns() const;
    size_t windows() const { return static_cast<size_t>((duration_ns() + window_ns - 1) / window_ns); }
};

// Throws refusal for what is not a plan, or one that puts the client on a CPU of its tenants.
client_plan read_client_plan(std::string_view text);

}  // namespace wt::client
