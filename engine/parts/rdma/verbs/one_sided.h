// READ and WRITE in place of messages: what nic_rx and nic_tx of a client do over libibverbs.
//
// A request names a piece of the region by its slot and generation. nic_tx posts the operations of a burst,
// and hellos among them, as one chain. Each completion comes through nic_rx as the response, in the request's
// own mbuf.
#pragma once

#include "parts/rdma/places.h"
#include "parts/rdma/verbs/channel.h"

namespace wt {

// Of a client's queue.
struct verbs_one_sided {
    verbs_channel &messages;  // its queue pair; and how hellos arrive
    operation_places places = {};
    uint64_t remote = 0;      // the region's first byte, as the server has told with its accept
    uint32_t remote_key = 0;  // likewise
    uint32_t local_key = 0;   // of the pieces
    uint32_t message_key = 0;
    alignas(RTE_CACHE_LINE_SIZE) uint32_t polls = 0;  // of nic_rx

    explicit verbs_one_sided(verbs_channel &c) : messages(c) {}
};

// For nic_rx and nic_tx; their queue is a verbs_one_sided.
extern const queue_ops verbs_one_sided_ops;

}  // namespace wt
