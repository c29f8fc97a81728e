// What copies of payload cost on this host, measured before a run in the run's own memory.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace wt {

struct application;
struct run_state;
struct workload_plan;

// What a copy by rte_memcpy would cost in the place of a copier.
struct cpu_copies {
    uint64_t from_bytes;          // the area that was copied from, round and round
    uint64_t to_places;           // that were copied to in turn, as the run takes them
    std::vector<uint32_t> sizes;  // ascending, up to the largest copy of a packet
    std::vector<double> ticks;    // of a copy of each
};

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
nlohmann::ordered_json cpu_copies_json(const run_state &f, uint32_t workload);

}  // namespace wt
