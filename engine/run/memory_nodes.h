// Where the kernel has put what was asked for on a NUMA node (run/nodes.h).
#pragma once

#include <cstddef>
#include <set>

#include "run/run.h"

namespace wt {

// The nodes of a piece of memory, by the kernel's word for each of its pages: one that nobody has written to
// is on none. Empty where the kernel does not say.
std::set<int> nodes_of_memory(const void *begin, size_t bytes);

// A note for each endpoint: on which nodes its mbufs, its rings, and its port's descriptors are (those of
// drivers that name them as rte_eth_dma_zone_reserve does). None on a machine with one node. The endpoints
// must be open.
void note_memory_nodes(run_state &f);

}  // namespace wt
