// Neighbour discovery (RFC 4861) and ICMPv6 echo (RFC 4443): what responder.h is for IPv4.
#pragma once

#include "core/frame_ipv6.h"

namespace wt {

// From Ethernet to the option with a MAC.
constexpr uint32_t neighbour_frame_bytes = 14 + 40 + 24 + 8;

// Turns a neighbour solicitation for our address or an ICMPv6 echo request into its reply, in place.
// frame_ipv6_parse has classified the frame as `control`; the mbuf behind `frame` has room for
// neighbour_frame_bytes. Returns the length of the reply, or 0 if the frame is to be dropped for *why.
uint32_t respond_ipv6(uint8_t *frame, const local_address &us, drop *why);

// Writes a solicitation of neighbour_frame_bytes for the MAC of `ip`.
void solicitation_write(uint8_t *frame, const local_address &us, const ipv6_address &ip);

// Whether the frame, which frame_ipv6_parse has classified as `control`, is an advertisement of `ip` by its
// owner; if so, sets *mac to its MAC.
bool advertisement_read(const uint8_t *frame, const ipv6_address &ip, mac_address *mac);

}  // namespace wt
