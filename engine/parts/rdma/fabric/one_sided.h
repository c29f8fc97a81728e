// READ and WRITE in place of messages: what nic_rx and nic_tx of a client do, and the server's region.
//
// A request names a piece of the region by its slot and generation. nic_tx posts the operation. Its
// completion comes through nic_rx as the response, in the request's own mbuf. Hellos travel as messages.
#pragma once

#include <rdma/fi_rma.h>

#include "parts/rdma/fabric/channel.h"
#include "parts/rdma/places.h"

namespace wt {

// Chosen by us on both sides, so that nobody has to tell it: a provider that chooses its own is refused.
constexpr uint64_t region_key = 0x5774;

// Where the region is for a provider that wants addresses; far from what the kernel and EAL choose.
inline void *const region_address = reinterpret_cast<void *>(0x600000000000);

// Of a client's queue.
struct one_sided_channel {
    fabric_channel &messages;  // its endpoint; and how hellos travel
    operation_places places;
    uint64_t remote;  // the region's first byte as the provider wants it
    void *descriptor;
    alignas(RTE_CACHE_LINE_SIZE) uint32_t polls = 0;  // of nic_rx
};

// For nic_rx and nic_tx; their queue is a one_sided_channel.
extern const queue_ops one_sided_queue;

}  // namespace wt
