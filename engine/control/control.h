// The control traffic of one dispatcher: ARP, ICMP echo, and the hello between two hosts.
//
// disp_rx passes every received control frame to control_receive(); disp_tx calls control_send() when main
// asks for a frame. Neither stage knows a protocol.
#pragma once

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include <atomic>

#include "control/handshake.h"
#include "core/frame.h"
#include "core/frame_write.h"
#include "core/stage.h"

namespace wt {

// The client's search for its peer's MAC address by ARP, shared by main and the endpoint's dispatchers.
struct peer_resolver {
    std::atomic<bool> ask{false};       // main: send a request
    std::atomic<uint64_t> response{0};  // the MAC in its low 48 bits, and bit 63 once it is known
};

struct control_plane {
    enum side side;
    framing frames =
        framing::ipv4;  // none: a packet begins at its message header, and all control traffic is hellos
    local_address us;
    uint32_t peer_ip = 0;                   // client
    ipv6_address peer_ipv6{};               // client, in place of it
    peer_resolver *resolver = nullptr;      // client
    struct handshake *handshake = nullptr;  // null if the peer is not another host
    uint32_t hello_round = 0;               // client: the round in which the last hello was sent
};

// Room for packets that leave by the queue that received them.
struct return_burst {
    rte_mbuf **to;
    uint32_t room, count;
};

// Takes a frame that the parser classified as `control`: ARP, neighbour discovery, ICMP. Its mbuf is freed,
// dropped by name, or appended to `back` as the reply.
void control_receive(control_plane &c, rte_mbuf *m, return_burst &back, const stage_call &call);

// Likewise a hello: a message for us, without IP options and padding.
void control_receive_hello(control_plane &c, rte_mbuf *m, return_burst &back, const stage_call &call);

// Whether main has asked for a frame that this dispatcher has not sent yet. Client only.
inline bool control_has_to_send(const control_plane &c) {
    if (unlikely(c.resolver->ask.load(std::memory_order_relaxed))) return true;
    return unlikely(c.handshake != nullptr) &&
           c.handshake->round.load(std::memory_order_acquire) != c.hello_round;
}

// Writes these frames to new mbufs at `to`; returns how many. `headers`: of the client's flow. Without room
// or without mbufs, the next call tries again.
uint32_t control_send(control_plane &c, rte_mbuf **to, uint32_t room, rte_mempool *pool,
                      frame_template &headers);

}  // namespace wt
