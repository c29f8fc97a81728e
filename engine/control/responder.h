// ARP (RFC 826) and ICMP echo (RFC 792): replies to others, and our own ARP requests.
#pragma once

#include <cstdint>

#include "core/frame.h"

namespace wt {

// Turns an ARP request for our address or an ICMP echo request into its reply, in place. frame_parse has
// classified the frame as `control`; `bytes` is its length as received. Returns the length of the reply,
// which the caller pads to frame_min_bytes, or 0 if the frame is to be dropped for *why.
uint32_t respond(uint8_t *frame, uint32_t bytes, const local_address &us, drop *why);

// Writes an ARP request of frame_min_bytes for the address `ip`.
void arp_request_write(uint8_t *frame, const mac_address &our_mac, uint32_t our_ip, uint32_t ip);

// Whether the frame is an ARP reply for `ip`; if so, sets *mac to its address.
bool arp_reply_read(const uint8_t *frame, uint32_t bytes, uint32_t ip, mac_address *mac);

}  // namespace wt
