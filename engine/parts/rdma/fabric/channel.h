// One queue over libfabric: an endpoint, its two completion queues, and what nic_rx and nic_tx do with them.
#pragma once

#include <rte_mempool.h>

#include "parts/rdma/fabric/handles.h"
#include "parts/rdma/posted.h"
#include "parts/rdma/rdma.h"

namespace wt {

// nic_rx and nic_tx may run on different workers: each has cache lines of its own.
struct fabric_channel {
    fabric_handle<fid_cq> receives, sends;  // completions
    fabric_handle<fid_ep> endpoint;         // closed first
    fi_addr_t peer = FI_ADDR_UNSPEC;        // unconnected types
    void *descriptor = nullptr;             // of the registered pool, where the provider wants one

    struct alignas(RTE_CACHE_LINE_SIZE) {
        posted_mbufs posted;
        rte_mempool *pool = nullptr;
        uint32_t bytes = 0;      // of a receive
        bool takes_more = true;  // the endpoint has not refused a receive for good
        uint64_t received = 0;
        uint64_t allocations = 0;  // of the provider
        uint64_t dry = 0;          // times when all posted receives had been used up
        uint64_t no_mbufs = 0;     // times when the pool had too few to post
        rdma_errors errors;        // of packets that came
        rdma_errors refused;       // of posts
    } rx;

    struct alignas(RTE_CACHE_LINE_SIZE) {
        posted_mbufs posted;
        uint32_t inline_bytes = 0;
        uint32_t signal_every = 1;
        uint32_t unsignalled = 0;
        bool refused = false;  // the last packet offered: a poll lets the provider go on
        uint64_t sent = 0;
        uint64_t allocations = 0;  // of the provider
        uint64_t full = 0;         // times when the provider or our depth took no more
        rdma_errors errors;
    } tx;
};

// Posts receives until as many are out as may be, the provider takes no more, or the pool has no mbufs.
void fabric_post_receives(fabric_channel &c);

// Takes in the completions of sends and frees their mbufs.
void fabric_reap(fabric_channel &c);

// Gives back all mbufs that are posted. Its endpoint must be closed.
void fabric_free(fabric_channel &c);

// For nic_rx and nic_tx; their queue is a fabric_channel.
extern const queue_ops fabric_queue;

}  // namespace wt
