// What a copy costs, by the CPU and by a copier: to the worker, and until it is there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parts/copies/copiers/copier.h"

namespace wt {

// Where copies come from and go to. A copy of `bytes` takes the next piece of each, round and round.
struct copy_areas {
    std::span<const uint8_t> from;
    std::span<uint8_t> to;
};

struct copy_costs {
    double cpu;       // ticks of a copy by rte_memcpy
    double caller;    // ticks that a copier takes of the worker: its submit, and the poll that finds the end
    double copier;    // ticks a copy, while `depth` of them run at a time: the copier's own rate
    uint64_t copies;  // that the copier made for this
};

// Ticks of a copy by rte_memcpy, of each of these sizes: medians of `rounds` rounds, in which the sizes take
// turns, a batch each. Copies come from one piece of `from` after the other, round and round, and go to each
// of `to` in turn.
std::vector<double> measure_cpu_copies(std::span<const uint8_t> from, std::span<uint8_t *const> to,
                                       std::span<const uint32_t> sizes, uint32_t batch, uint32_t rounds);

// Has one copy made, of `bytes` at the begin of both areas. Throws refusal as measure_costs does, and where
// the copier takes none, or has made it wrong.
void check_copy(const copy_channel &channel, const copy_areas &areas, uint32_t bytes, uint64_t patience);

// Medians of `rounds` rounds, in which both take turns; a round is one batch. The worker's waiting counts for
// neither. `copier` is measured where depth is not 0. Takes up to some milliseconds a MiB. Throws refusal
// where the copier does not end copies within `patience` ticks, or an end is bad.
copy_costs measure_costs(const copy_channel &channel, const copy_areas &areas, uint32_t bytes, uint32_t batch,
                         uint32_t depth, uint32_t rounds, uint64_t patience);

}  // namespace wt
