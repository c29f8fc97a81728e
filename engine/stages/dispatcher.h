// A dispatcher: the role behind disp_rx and disp_tx. One dispatcher is one queue of a port.
#pragma once

#include <rte_mempool.h>
#include <windtunnel/handler.h>

#include <array>
#include <memory>
#include <vector>

#include "control/control.h"
#include "core/frame_write.h"
#include "core/message.h"
#include "core/plain_frame.h"
#include "core/stage.h"
#include "core/steps.h"
#include "stages/carrier.h"
#include "stages/link.h"
#include "stages/port_queue.h"

namespace wt {

struct application;

// Why nic_tx can take no packet: a full ring if it is on another worker, else the port behind it.
inline stalled_for wanted_by(const handover &towards_port) { return towards_port.ring ? for_ring : for_port; }

using flow_headers = std::array<frame_template, 2>;

constexpr uint16_t no_link = UINT16_MAX;
constexpr uint32_t max_links = 64;  // applications of one dispatcher

struct dispatcher {
    enum side side;
    uint16_t index;  // in its endpoint
    uint8_t workload;
    uint32_t batch_rx, batch_tx;  // of disp_rx, disp_tx
    bool workload_has_messages;
    rte_mempool *pool;
    port_queue nic;
    control_plane control;

    // disp_rx
    plain_match plain;                             // the frames that are ours, for the fast path
    message_match only_link = no_message_matches;  // with one link: the messages that it takes
    std::vector<application *> applications;
    std::vector<link *> links;          // parallel to applications
    std::vector<uint16_t> link_of;      // client: application index -> position in links, or no_link
    struct carrier *carrier = nullptr;  // of its only application, where that has one
    handover *forwards;                 // where disp_rx puts packets that leave again
    line_vector<rte_mbuf *> passed;     // scratch: packets that the handler passes
    std::vector<line_vector<rte_mbuf *>> sorted;  // scratch: a burst for each link
    const wt_handler *packet_handler = nullptr;
    void *packet_state = nullptr;
    handler_steps *steps = nullptr;  // of the packet handler; null if it has none
    line_vector<wt_packet> views;

    // written by disp_rx: the headers of a frame that came, and a packet that waits for room in the ring of
    // one of several applications; null: none
    alignas(RTE_CACHE_LINE_SIZE) known_headers headers_kept;
    rte_mbuf *waiting = nullptr;
    link *waits_for;

    // disp_tx, which writes to what follows while disp_rx reads what stands above
    alignas(RTE_CACHE_LINE_SIZE) udp_checksum checksum;
    uint64_t port_checksums = 0;  // RTE_MBUF_F_TX_*: those that the port computes; 0: none
    uint32_t next_link = 0;
    // On a client: the headers of its first flow, for full segments and for all other lengths.
    alignas(RTE_CACHE_LINE_SIZE) flow_headers headers;
    std::vector<flow_headers>
        spread;  // of all its flows, where it has several: one for each queue of the peer
};

}  // namespace wt
