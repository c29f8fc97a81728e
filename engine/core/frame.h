// Real Ethernet/IPv4/UDP frames, on bytes alone: parsed and turned into replies here, written and turned
// around in frame_write.h.
#pragma once

#include <netinet/in.h>
#include <rte_byteorder.h>

#include <cstdint>

#include "core/drop.h"
#include "core/ip_address.h"

namespace wt {

constexpr uint32_t ipv4_header_bytes = 20, udp_header_bytes = 8;  // IPv4 without options
// What the MTU holds beside the UDP payload.
constexpr uint32_t ip_udp_header_bytes = ipv4_header_bytes + udp_header_bytes;
constexpr uint32_t frame_header_bytes = 14 + ip_udp_header_bytes;  // Ethernet, IPv4, UDP
constexpr uint32_t frame_min_bytes = 60;    // IEEE 802.3's 64 without FCS; shorter ones are padded
constexpr uint8_t frame_time_to_live = 64;  // of every frame that we send
constexpr uint16_t frame_udp_protocol = RTE_BE16(IPPROTO_UDP);  // in the pseudo-header

// What stands around a message: nothing, or headers of UDP over IPv4 or IPv6. An endpoint has one of them.
enum class framing : uint8_t { none, ipv4, ipv6 };

struct mac_address {
    uint8_t bytes[6];
};

// Our addresses on a queue. Addresses and ports in host byte order.
struct local_address {
    mac_address mac;
    uint32_t ip;
    uint16_t first_port;  // of queue 0
    uint16_t queues;      // queue q listens on first_port + q
    uint16_t queue;       // the one that this dispatcher polls
    ipv6_address ipv6{};  // in place of `ip`, where frames are IPv6's
};

struct flow {
    mac_address source_mac, destination_mac;
    uint32_t source_ip, destination_ip;
    uint16_t source_port, destination_port;
    ipv6_address source_ipv6{}, destination_ipv6{};  // in place of the IPv4 ones
};

// From a frame's first byte; what stands behind the IPv4 header stands there in a header without options.
namespace offset {
constexpr uint32_t type = 12, ip = 14, ip_length = 16, identification = 18, fragment = 20, time_to_live = 22,
                   protocol = 23, ip_checksum = 24, addresses = 26, destination_ip = 30, udp = 34,
                   destination_port = 36, udp_length = 38, udp_checksum = 40;
}

struct parsed_frame {
    uint32_t payload_offset;  // from the frame's first byte
    uint32_t payload_bytes;   // as UDP says, padding not counted
};

enum class parse_result : uint8_t { udp, control, dropped };

// Parses one received frame of `bytes` contiguous bytes. `udp`: *out is filled, both checksums hold (a UDP
// checksum of 0 is "none", RFC 768), it is for this queue. `control`: ARP or ICMP, for respond(). `dropped`:
// *why says it.
parse_result frame_parse(const uint8_t *frame, uint32_t bytes, const local_address &us, parsed_frame *out,
                         drop *why);

// Brings the UDP header and payload of a frame that frame_parse called `udp` to their fixed place behind a
// header without IP options. Lengths and checksums are left as they were, for frame_turn().
void frame_cut_options(uint8_t *frame, const parsed_frame &parsed);

}  // namespace wt
