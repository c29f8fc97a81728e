// One queue over libibverbs: a queue pair, its two completion queues, and what nic_rx and nic_tx do with
// them.
#pragma once

#include <rte_mempool.h>

#include <atomic>

#include "parts/rdma/posted.h"
#include "parts/rdma/rdma.h"
#include "parts/rdma/verbs/requests.h"
#include "parts/rdma/verbs/sends.h"

namespace wt {

// nic_rx and nic_tx may run on different workers: each has cache lines of its own.
struct verbs_channel {
    // of the port; null where it has none, which is only before its link was up
    ibv_qp *pair = nullptr;
    ibv_cq *receives = nullptr, *sends = nullptr;  // completions
    // A completion had an error, or a post was refused for good: the device will move nothing more.
    std::atomic<bool> broken = false;

    struct alignas(RTE_CACHE_LINE_SIZE) {
        posted_mbufs posted;
        receive_chain chain;
        rte_mempool *pool = nullptr;
        uint32_t ahead = 0;     // bytes that the device writes before a message
        uint64_t dry = 0;       // times when all posted receives had been used up
        uint64_t no_mbufs = 0;  // times when the pool had too few to post
        uint64_t full = 0;      // times when the device took no more, though our depth has room
        rdma_errors errors;     // of packets that came
        rdma_errors refused;    // of posts and polls, by errno
    } rx;

    struct alignas(RTE_CACHE_LINE_SIZE) {
        posted_sends posted;
        send_chain chain;
        uint32_t inline_bytes = 0;
        uint32_t signal_every = 1;  // at most as many as may be under way
        uint32_t unsignalled = 0;   // since the last signalled send
        uint64_t full = 0;          // times when all sends were under way, or the device took no more
        rdma_errors errors;         // of completions
        rdma_errors refused;        // of posts and polls, by errno
    } tx;
};

// On datagrams a device writes a global route header before each message. It lands in the place of the
// frame's headers, which do not travel.
constexpr uint32_t route_header_bytes = 40;

// Prepares the channel for a new queue pair: so many receives and sends at once, of mbufs with the key `key`.
void verbs_prepare(verbs_channel &c, uint32_t receives, uint32_t sends, uint32_t key);

// Posts receives until as many are out as may be, the device takes no more, or the pool has no mbufs.
void verbs_post_receives(verbs_channel &c);

// Takes in the completions of sends and frees their mbufs.
void verbs_reap(verbs_channel &c);

// Gives back all mbufs that are posted. Its queue pair must be closed.
void verbs_free(verbs_channel &c);

// Reads completions of a queue; returns how many. An error of the queue itself breaks the channel.
uint32_t verbs_poll(verbs_channel &c, ibv_cq *queue, int most, ibv_wc *done, rdma_errors &refused);

// A post was refused: there is no room now, or for good.
void verbs_refused(verbs_channel &c, uint64_t &full, rdma_errors &refused, int error);

// A send ended with an error, and its queue pair with it.
void verbs_failed(verbs_channel &c, ibv_wc_status status);

// For nic_rx and nic_tx; their queue is a verbs_channel.
extern const queue_ops verbs_queue_ops;

}  // namespace wt
