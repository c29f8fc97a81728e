#include "control/responder_ipv6.h"

#include <rte_ether.h>

namespace wt {
namespace {

constexpr uint8_t echo_request = 128, echo_reply = 129, solicitation = 135, advertisement = 136;
constexpr uint8_t source_mac_option = 1, target_mac_option = 2, own_hop_limit = 255;
constexpr uint32_t icmp = offset_ipv6::udp, icmp_checksum = icmp + 2, flags = icmp + 4, target = icmp + 8,
                   options = icmp + 24, neighbour_bytes = 24, option_bytes = 8;
constexpr uint8_t solicited = 0x40, override = 0x20;
constexpr ipv6_address all_nodes = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr uint16_t icmp_protocol = RTE_BE16(58);
static_assert(options + option_bytes == neighbour_frame_bytes);

// Over the pseudo-header and the ICMPv6 message (RFC 4443, 2.3).
uint16_t folded_sum(const uint8_t *frame, uint16_t bytes) {
    const uint64_t pseudo = checksum_bytes(uint64_t{icmp_protocol} + rte_cpu_to_be_16(bytes),
                                           frame + offset_ipv6::addresses, 2 * sizeof(ipv6_address));
    return checksum_fold(checksum_bytes(pseudo, frame + icmp, bytes));
}

uint16_t icmp_bytes_of(const uint8_t *frame) {
    return rte_be_to_cpu_16(load<uint16_t>(frame + offset_ipv6::payload_length));
}

void write_headers(uint8_t *frame, const mac_address &to_mac, const mac_address &from_mac,
                   const ipv6_address &to, const ipv6_address &from, uint16_t bytes, uint8_t hop_limit) {
    store(frame, to_mac);
    store(frame + RTE_ETHER_ADDR_LEN, from_mac);
    store<uint16_t>(frame + offset::type, RTE_BE16(RTE_ETHER_TYPE_IPV6));
    store<uint32_t>(frame + offset_ipv6::ip, 0x60);
    store(frame + offset_ipv6::payload_length, rte_cpu_to_be_16(bytes));
    frame[offset_ipv6::next_header] = 58;
    frame[offset_ipv6::hop_limit] = hop_limit;
    store(frame + offset_ipv6::addresses, from);
    store(frame + offset_ipv6::destination_ip, to);
}

void write_checksum(uint8_t *frame, uint16_t bytes) {
    store<uint16_t>(frame + icmp_checksum, 0);
    store(frame + icmp_checksum, static_cast<uint16_t>(~folded_sum(frame, bytes)));
}

// A message of neighbour discovery with one option; the addresses of IPv6 are written.
void write_neighbour(uint8_t *frame, uint8_t type, uint8_t flag_bits, const ipv6_address &about,
                     uint8_t option, const mac_address &mac) {
    constexpr uint16_t bytes = neighbour_bytes + option_bytes;
    std::memset(frame + icmp, 0, bytes);
    frame[icmp] = type;
    frame[flags] = flag_bits;
    store(frame + target, about);
    frame[options] = option;
    frame[options + 1] = 1;  // in 8 bytes
    store(frame + options + 2, mac);
    write_checksum(frame, bytes);
}

bool is_multicast(const mac_address &mac) { return mac.bytes[0] & 1; }

// The MAC in an option of a message of neighbour discovery. False: it has none.
bool find_option(const uint8_t *frame, uint8_t option, mac_address *mac) {
    const uint32_t end = icmp + icmp_bytes_of(frame);
    for (uint32_t at = options; at + option_bytes <= end; at += uint32_t{frame[at + 1]} * 8) {
        if (frame[at + 1] == 0) return false;
        if (frame[at] != option) continue;
        *mac = load<mac_address>(frame + at + 2);
        return true;
    }
    return false;
}

// Whether a message of neighbour discovery was made on this link and is whole (RFC 4861, 7.1).
bool is_from_neighbour(const uint8_t *frame) {
    return frame[offset_ipv6::hop_limit] == own_hop_limit && frame[icmp + 1] == 0 &&
           icmp_bytes_of(frame) >= neighbour_bytes;
}

uint32_t respond_to_solicitation(uint8_t *frame, const local_address &us, drop *why) {
    const auto asker = load<mac_address>(frame + RTE_ETHER_ADDR_LEN);
    const auto asker_ip = load<ipv6_address>(frame + offset_ipv6::addresses);
    if (!is_from_neighbour(frame) || is_multicast(asker) || asker_ip[0] == 0xff)
        return *why = drop::bad_neighbour, 0;
    if (load<ipv6_address>(frame + target) != us.ipv6) return *why = drop::neighbour_not_for_us, 0;
    // Without an address of its own, a host asks whether somebody has the one that it wants: all are told.
    const bool unspecified = asker_ip == ipv6_address{};
    write_headers(frame, unspecified ? group_mac_of(all_nodes) : asker, us.mac,
                  unspecified ? all_nodes : asker_ip, us.ipv6, neighbour_bytes + option_bytes, own_hop_limit);
    const auto bits = static_cast<uint8_t>(unspecified ? override : solicited | override);
    write_neighbour(frame, advertisement, bits, us.ipv6, target_mac_option, us.mac);
    return neighbour_frame_bytes;
}

uint32_t respond_to_echo(uint8_t *frame, uint16_t bytes, const local_address &us, drop *why) {
    const auto asker = load<mac_address>(frame + RTE_ETHER_ADDR_LEN);
    const auto asker_ip = load<ipv6_address>(frame + offset_ipv6::addresses);
    const auto asked = load<ipv6_address>(frame + offset_ipv6::destination_ip);
    if (is_multicast(asker) || asker_ip[0] == 0xff || asker_ip == ipv6_address{} || asker_ip == us.ipv6 ||
        asked != us.ipv6)
        return *why = drop::bad_icmp, 0;
    write_headers(frame, asker, us.mac, asker_ip, us.ipv6, bytes, frame_time_to_live);
    frame[icmp] = echo_reply;
    write_checksum(frame, bytes);
    return icmp + bytes;
}

}  // namespace

uint32_t respond_ipv6(uint8_t *frame, const local_address &us, drop *why) {
    const uint16_t bytes = icmp_bytes_of(frame);
    *why = drop::bad_icmp;
    if (bytes < 8 || folded_sum(frame, bytes) != 0xffff) return 0;
    if (frame[icmp] == solicitation) return respond_to_solicitation(frame, us, why);
    if (frame[icmp] == advertisement) return *why = drop::neighbour_unasked, 0;
    if (frame[icmp] != echo_request || frame[icmp + 1] != 0) return 0;
    return respond_to_echo(frame, bytes, us, why);
}

void solicitation_write(uint8_t *frame, const local_address &us, const ipv6_address &ip) {
    const ipv6_address group = solicited_group_of(ip);
    write_headers(frame, group_mac_of(group), us.mac, group, us.ipv6, neighbour_bytes + option_bytes,
                  own_hop_limit);
    write_neighbour(frame, solicitation, 0, ip, source_mac_option, us.mac);
}

bool advertisement_read(const uint8_t *frame, const ipv6_address &ip, mac_address *mac) {
    const uint16_t bytes = icmp_bytes_of(frame);
    if (bytes < neighbour_bytes || frame[icmp] != advertisement || !is_from_neighbour(frame)) return false;
    if (folded_sum(frame, bytes) != 0xffff || load<ipv6_address>(frame + target) != ip) return false;
    return find_option(frame, target_mac_option, mac) && !is_multicast(*mac);
}

}  // namespace wt
