// The control traffic of disp_rx and disp_tx, counted.
#pragma once

#include "stages/dispatcher.h"

namespace wt {

// ARP, neighbour discovery, ICMP, or a hello of the other host, by the function of control.h.
template <auto receive = control_receive>
inline void receive_control(dispatcher &d, rte_mbuf *m, return_burst &back, const stage_call &call) {
    const uint32_t before = back.count;
    receive(d.control, m, back, call);
    if (back.count > before) count_tx_bytes(d.nic, bytes_on_wire(d.nic, back.to[before]), call);
}

// Sends an ARP request or a hello when main asks for one. Returns how many packets that are, a batch at most.
inline uint32_t send_control(dispatcher &d, const stage_call &call) {
    if (likely(!control_has_to_send(d.control))) return 0;
    uint32_t room;
    rte_mbuf **to = handover_room(*d.nic.sending, &room);
    const uint32_t count = control_send(d.control, to, std::min(room, d.batch_tx), d.pool, d.headers[1]);
    for (uint32_t i = 0; i < count; i++) count_tx_bytes(d.nic, bytes_on_wire(d.nic, to[i]), call);
    if (count > 0) handover_put(*d.nic.sending, count);
    return count;
}

}  // namespace wt
