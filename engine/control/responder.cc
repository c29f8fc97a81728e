// Replies to ARP requests (RFC 826) and ICMP echo requests (RFC 792).
#include "control/responder.h"

#include <rte_arp.h>
#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_icmp.h>
#include <rte_ip.h>

#include <cstddef>

#include "core/checksum.h"

namespace wt {
namespace {

constexpr uint32_t arp_bytes = sizeof(rte_ether_hdr) + sizeof(rte_arp_hdr);
constexpr uint8_t icmp_echo_reply = 0, icmp_echo_request = 8;  // DPDK renamed its own
constexpr rte_ether_addr broadcast = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
static_assert(arp_bytes <= frame_min_bytes && sizeof(mac_address) == sizeof(rte_ether_addr));

// Headers are copied out and back: a frame may stand at any address, DPDK's structures may not.
rte_ether_addr ether_address(const mac_address &mac) { return load<rte_ether_addr>(mac.bytes); }

bool is_ipv4_over_ethernet(const rte_arp_hdr &arp) {
    return arp.arp_hardware == RTE_BE16(RTE_ARP_HRD_ETHER) &&
           arp.arp_protocol == RTE_BE16(RTE_ETHER_TYPE_IPV4) && arp.arp_hlen == RTE_ETHER_ADDR_LEN &&
           arp.arp_plen == sizeof arp.arp_data.arp_sip;
}

void arp_write(uint8_t *frame, uint16_t opcode, const rte_arp_ipv4 &data, const rte_ether_addr &to) {
    const rte_ether_hdr ether = {to, data.arp_sha, RTE_BE16(RTE_ETHER_TYPE_ARP)};
    const rte_arp_hdr arp = {RTE_BE16(RTE_ARP_HRD_ETHER), RTE_BE16(RTE_ETHER_TYPE_IPV4), RTE_ETHER_ADDR_LEN,
                             sizeof data.arp_sip,         rte_cpu_to_be_16(opcode),      data};
    store(frame, ether);
    store(frame + sizeof ether, arp);
}

uint32_t respond_arp(uint8_t *frame, uint32_t bytes, const local_address &us, drop *why) {
    const auto dropped = [why](drop reason) {
        *why = reason;
        return 0u;
    };
    if (bytes < arp_bytes) return dropped(drop::runt);
    const auto arp = load<rte_arp_hdr>(frame + sizeof(rte_ether_hdr));
    const rte_arp_ipv4 &asked = arp.arp_data;
    const bool request = arp.arp_opcode == RTE_BE16(RTE_ARP_OP_REQUEST);
    if (!is_ipv4_over_ethernet(arp) || (!request && arp.arp_opcode != RTE_BE16(RTE_ARP_OP_REPLY)))
        return dropped(drop::bad_arp);
    // A group address as the sender's would send the reply to many hosts.
    if (rte_is_multicast_ether_addr(&asked.arp_sha)) return dropped(drop::bad_arp);
    if (!request || asked.arp_sip == asked.arp_tip) return dropped(drop::arp_unasked);
    if (asked.arp_tip != rte_cpu_to_be_32(us.ip)) return dropped(drop::arp_not_for_us);
    arp_write(frame, RTE_ARP_OP_REPLY, {ether_address(us.mac), asked.arp_tip, asked.arp_sha, asked.arp_sip},
              asked.arp_sha);
    return arp_bytes;
}

// Whether a reply to this sender goes to one other host (RFC 1122, 3.2.2.6 and 3.2.1.3).
bool may_get_reply(const rte_ether_hdr &ether, const rte_ipv4_hdr &ip, const local_address &us) {
    const uint32_t sender = rte_be_to_cpu_32(ip.src_addr);
    return !rte_is_multicast_ether_addr(&ether.src_addr) && sender != 0 && sender < RTE_IPV4_MIN_MCAST &&
           sender != us.ip;
}

uint32_t respond_icmp(uint8_t *frame, const local_address &us, drop *why) {
    *why = drop::bad_icmp;
    auto ether = load<rte_ether_hdr>(frame);
    uint8_t *const ip_at = frame + sizeof ether;
    auto ip = load<rte_ipv4_hdr>(ip_at);
    const uint32_t ip_bytes = rte_be_to_cpu_16(ip.total_length);
    const uint32_t header_bytes = (ip.version_ihl & RTE_IPV4_HDR_IHL_MASK) * RTE_IPV4_IHL_MULTIPLIER;
    uint8_t *const icmp_at = ip_at + header_bytes;
    const uint32_t icmp_bytes = ip_bytes - header_bytes;
    if (icmp_bytes < sizeof(rte_icmp_hdr)) return 0;
    auto icmp = load<rte_icmp_hdr>(icmp_at);
    if (icmp.icmp_type != icmp_echo_request || icmp.icmp_code != 0) return 0;

    // Type and checksum are all that changes, so the sum of the rest serves the check and the reply.
    // (Adjusting the old checksum, RFC 1624, gives 0 instead of 0xffff for a reply of zeros.)
    constexpr uint32_t changed_bytes = offsetof(rte_icmp_hdr, icmp_ident);
    constexpr uint16_t request_word = RTE_BE16(icmp_echo_request << 8);
    const uint64_t rest = checksum_bytes(0, icmp_at + changed_bytes, icmp_bytes - changed_bytes);
    if (checksum_fold(checksum_add(rest, uint64_t{request_word} + icmp.icmp_cksum)) != 0xffff) return 0;
    if (!may_get_reply(ether, ip, us)) return 0;

    icmp.icmp_type = icmp_echo_reply;
    icmp.icmp_cksum = checksum_field(rest);
    store(icmp_at, icmp);

    ether.dst_addr = ether.src_addr;
    ether.src_addr = ether_address(us.mac);
    store(frame, ether);

    ip.type_of_service = 0;
    ip.packet_id = 0;
    ip.fragment_offset = RTE_BE16(RTE_IPV4_HDR_DF_FLAG);
    ip.time_to_live = frame_time_to_live;
    ip.hdr_checksum = 0;
    ip.dst_addr = ip.src_addr;
    ip.src_addr = rte_cpu_to_be_32(us.ip);
    store(ip_at, ip);
    // As in frame_turn: options were meant for the way here.
    std::memset(ip_at + sizeof ip, 0, header_bytes - sizeof ip);
    store(ip_at + offsetof(rte_ipv4_hdr, hdr_checksum),
          checksum_field(checksum_bytes(0, ip_at, header_bytes)));
    return static_cast<uint32_t>(sizeof ether) + ip_bytes;
}

}  // namespace

uint32_t respond(uint8_t *frame, uint32_t bytes, const local_address &us, drop *why) {
    const bool arp = load<rte_ether_hdr>(frame).ether_type == RTE_BE16(RTE_ETHER_TYPE_ARP);
    return arp ? respond_arp(frame, bytes, us, why) : respond_icmp(frame, us, why);
}

void arp_request_write(uint8_t *frame, const mac_address &our_mac, uint32_t our_ip, uint32_t ip) {
    std::memset(frame, 0, frame_min_bytes);
    arp_write(frame, RTE_ARP_OP_REQUEST,
              {ether_address(our_mac), rte_cpu_to_be_32(our_ip), {}, rte_cpu_to_be_32(ip)}, broadcast);
}

bool arp_reply_read(const uint8_t *frame, uint32_t bytes, uint32_t ip, mac_address *mac) {
    if (bytes < arp_bytes) return false;
    if (load<rte_ether_hdr>(frame).ether_type != RTE_BE16(RTE_ETHER_TYPE_ARP)) return false;
    const auto arp = load<rte_arp_hdr>(frame + sizeof(rte_ether_hdr));
    if (!is_ipv4_over_ethernet(arp) || arp.arp_opcode != RTE_BE16(RTE_ARP_OP_REPLY)) return false;
    if (arp.arp_data.arp_sip != rte_cpu_to_be_32(ip)) return false;
    if (!rte_is_valid_assigned_ether_addr(&arp.arp_data.arp_sha)) return false;
    *mac = load<mac_address>(arp.arp_data.arp_sha.addr_bytes);
    return true;
}

}  // namespace wt
