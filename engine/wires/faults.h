// Emulated misbehaviour of a wire: loss, duplication, reordering, planted in nic_tx, from a seed.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

#include "plan/plan.h"

namespace wt {

// State of one queue's faults: plain data, owned by the worker that runs nic_tx.
struct faults {
    uint64_t loss, duplicate, reorder;  // probabilities scaled to 2^64-1
    uint32_t reorder_depth;
    uint64_t random;  // splitmix64 state
    struct {
        rte_mbuf *packet;
        uint32_t overtakes_left;
    } held[64];
    uint32_t held_count;
    uint64_t lost, duplicated;  // since the start
    rte_mempool *copies;        // where duplicates come from
};

void faults_init(faults &f, const fault_plan &p, uint64_t seed, rte_mempool *copies);

// Passes a burst through the faults. `out` has room for 2 * count + 64. Returns how many packets to send;
// those lost are freed and counted. Duplicates are true copies (rte_pktmbuf_copy); where no mbuf is left none
// is made.
uint32_t faults_apply(faults &f, rte_mbuf **burst, uint32_t count, rte_mbuf **out);

// Releases held packets in order, for the end of a run (or an idle wire). `out` has room for 64.
uint32_t faults_release(faults &f, rte_mbuf **out);

}  // namespace wt
