// READ and WRITE in place of messages: what nic_rx and nic_tx of a client do, and the server's region.
//
// A request names a piece of the region by its slot and generation. nic_tx posts the operation. Its
// completion comes through nic_rx as the response, in the request's own mbuf. Hellos travel as messages.
#pragma once

#include <rdma/fi_rma.h>

#include <memory>

#include "core/ring.h"
#include "wires/rdma/fabric/channel.h"
#include "wires/rdma/region.h"

namespace wt {

// Chosen by us on both sides, so that nobody has to tell it: a provider that chooses its own is refused.
constexpr uint64_t region_key = 0x5774;

// Where the region is for a provider that wants addresses; far from what the kernel and EAL choose.
inline void *const region_address = reinterpret_cast<void *>(0x600000000000);

// Of a client's queue. Each operation has a place from its post to its completion.
struct one_sided_channel {
    fabric_channel &messages;  // its endpoint; and how hellos travel
    region_shape region;
    bool writes;
    uint64_t remote;  // the region's first byte as the provider wants it
    uint8_t *local;   // reads: a piece for each place; writes: the region as it is to become
    void *descriptor;
    std::vector<rte_mbuf *> holding;            // by place
    std::unique_ptr<spsc_ring<uint32_t>> free;  // places: from nic_rx to nic_tx

    // nic_tx
    alignas(RTE_CACHE_LINE_SIZE) uint32_t next_place = 0;
    bool has_next_place = false;

    // nic_rx
    alignas(RTE_CACHE_LINE_SIZE) uint32_t polls = 0;
    uint64_t done = 0;   // operations
    uint64_t wrong = 0;  // pieces that were read and are not what stands there
};

// Prepares `places` places.
void one_sided_open(one_sided_channel &c, uint32_t places);

// Frees the mbufs of operations that have not ended. Their endpoint must be closed.
void one_sided_free(one_sided_channel &c);

// For nic_rx and nic_tx; their queue is a one_sided_channel.
extern const queue_ops one_sided_queue;

}  // namespace wt
