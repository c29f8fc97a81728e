// What app_rx of a server keeps between two calls.
#pragma once

#include <rte_mbuf.h>
#include <windtunnel/handler.h>

#include <memory>
#include <optional>
#include <vector>

#include "core/assembler.h"
#include "core/line_vector.h"
#include "core/sizes.h"

namespace wt {

// A complete request that waits for the mbufs of its response.
struct ready_request {
    uint32_t first;  // in server_responding::requests
    uint32_t segments;
    message_header header;
    segmentation response;
};

struct alignas(RTE_CACHE_LINE_SIZE) server_responding {
    bool in_request;                  // the response is written into the request's mbufs
    bool in_place;                    // and both are one segment: app_rx_in_place.cc
    bool requests_vary;               // in size
    uint32_t header_bytes_ahead = 0;  // of a frame, ahead of where IPv4's headers begin
    uint64_t extra_ticks;
    std::optional<size_cursor> sizes;  // of responses, if they vary
    std::unique_ptr<assembler> parts;  // null if requests have one segment
    line_vector<rte_mbuf *> packets;   // as dequeued
    line_vector<rte_mbuf *> requests;  // packets of ready requests
    line_vector<ready_request> ready;
    uint32_t ready_head = 0;
    line_vector<rte_mbuf *> fresh;  // mbufs for responses
    line_vector<wt_segment> request_views, response_views;
    line_vector<wt_exchange> exchanges;
    line_vector<wt_exchange> initial_exchanges;  // in place: each as it is before the handler's call
};

}  // namespace wt
