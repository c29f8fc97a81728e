// What copies of payload cost on this host, measured before a run in the run's own memory.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace wt {

struct application;
struct run_state;
struct workload_plan;

// Where copies go, if not to the bodies of packets.
struct copy_places {
    uint32_t bytes;  // of the largest copy
    std::vector<uint8_t *> begins;
};

// For an application whose copier ends copies later: what the CPU's would cost, once a workload, and with
// at_least = "auto", below which size the CPU makes them. Takes some milliseconds. Throws refusal.
void measure_copies(run_state &f, application &a, const workload_plan &w,
                    const copy_places *places = nullptr);

// Null where nothing was measured.
nlohmann::ordered_json cpu_copies_json(const application &a);

}  // namespace wt
