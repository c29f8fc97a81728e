// The ports of a run: opened as the plan says, by their wires; their links; closed.
#pragma once

#include <span>
#include <vector>

#include "plan/plan.h"
#include "wires/port.h"

namespace wt {

// Opens the ports of all endpoints, configures queues and descriptors, starts those that need not wait for
// their peer. pools[i] is endpoint i's mbuf pool. Throws refusal.
std::vector<port> open_ports(const plan &p, const std::vector<rte_mempool *> &pools);

// Waits until all links are up or `keep_waiting()` says no; returns whether they are up. Software ports
// without a peer are up at once. Throws refusal where a wire gives up.
bool wait_for_links(std::span<const port> ports, bool (*keep_waiting)(void *), void *argument);

// Whether what one endpoint sends and the other has not received can be found: both ends are in this process.
bool is_pair(const std::vector<port> &ports);

// Frees what is still on the wire of a pair and returns how many packets that were, for packets from endpoint
// `source`.
uint32_t drain_wire(const std::vector<port> &ports, size_t source);

void close_ports(std::vector<port> &ports);

}  // namespace wt
