// An application: the role behind app_tx and app_rx.
//
// Everything is allocated before the workers start. Each stage keeps its own state in a struct on cache lines
// that no other worker writes (client_state.h, server_state.h). This file has what the stages of one
// application share.
#pragma once

#include <rte_mempool.h>
#include <windtunnel/handler.h>

#include <memory>
#include <vector>

#include "core/message.h"
#include "core/steps.h"
#include "stages/bodies.h"
#include "stages/carrier.h"
#include "stages/link.h"

namespace wt {

struct inflight_table;
struct client_sending;
struct client_receiving;
struct server_responding;

struct application {
    uint16_t index;  // in its endpoint
    uint8_t workload;
    rte_mempool *pool;
    uint32_t batch_tx, batch_rx;
    segmentation request, response;  // of the largest messages
    std::vector<link *> links;
    const wt_handler *handler = nullptr;
    void *handler_state = nullptr;
    handler_steps *steps = nullptr;         // of the handler on a server; null if it has none
    std::unique_ptr<struct bodies> bodies;  // of a part; null: nobody moves or checks them

    // client
    std::unique_ptr<inflight_table> inflight;
    std::unique_ptr<client_sending> sending;
    std::unique_ptr<client_receiving> receiving;
    // server
    std::unique_ptr<server_responding> responding;
    // a part's, for the bodies of requests that arrive; null: nobody checks them
    void (*check_requests)(const application &a, rte_mbuf *const *packets, uint32_t count) = nullptr;

    // either side; null: messages over UDP
    std::unique_ptr<struct carrier> carrier;

    // written by app_tx on a client, by app_rx on a server, while the other stage reads what stands above
    alignas(RTE_CACHE_LINE_SIZE) uint32_t next_link = 0;
    outbox out;

    application();
    ~application();
};

}  // namespace wt
