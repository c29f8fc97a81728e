// Which NUMA node the memory of a run belongs to: that of the port which reads and writes it, else that of
// the workers.
#pragma once

#include "plan/plan.h"

namespace wt {

// What is asked of the machine; a test makes one up. -1: not known.
struct node_topology {
    unsigned count;  // nodes with memory
    int (*of_cpu)(int cpu);
    int (*of_device)(const endpoint_plan &e);  // behind the endpoint's port
};
node_topology nodes_of_host();

// The worker that runs a stage of an endpoint, -1 where none does.
int worker_of(const plan &p, uint32_t endpoint, stage_kind stage, uint32_t index);

// Of an endpoint's mbufs and descriptors: its device's, else the one on which most of its stages run; of
// several with as many, that of the first worker. SOCKET_ID_ANY: not known.
int home_node(const plan &p, size_t endpoint, const node_topology &t);

// Of a ring between two workers, from which this stage takes: its endpoint's device's, else its worker's.
// SOCKET_ID_ANY: not known, or there is no other.
int ring_node(const plan &p, const stage_of &taker, const node_topology &t);

}  // namespace wt
