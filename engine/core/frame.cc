#include "core/frame.h"

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>

#include "core/checksum.h"

namespace wt {
namespace {

// From the frame's first byte.
constexpr uint32_t at_type = 12, at_ip = 14, at_ip_length = 16, at_identification = 18, at_fragment = 20,
                   at_time_to_live = 22, at_protocol = 23, at_ip_checksum = 24, at_addresses = 26,
                   at_destination_ip = 30, at_udp = 34;
// From the UDP header's first byte: IPv4 options may stand before it.
constexpr uint32_t at_destination_port = 2, at_udp_length = 4, at_udp_checksum = 6, udp_header_bytes = 8;

constexpr uint32_t ip_header_bytes = 20;
static_assert(at_udp == at_ip + ip_header_bytes && at_udp + udp_header_bytes == frame_header_bytes);

// Frames are never cut on their way, so that the identification may stay 0 (RFC 6864).
constexpr uint16_t dont_fragment = RTE_BE16(RTE_IPV4_HDR_DF_FLAG);
constexpr uint16_t fragment_mask = RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK);
constexpr uint16_t protocol_word = RTE_BE16(IPPROTO_UDP);

constexpr uint16_t time_and_protocol(uint8_t protocol) {
    return RTE_BE16(frame_time_to_live << 8 | protocol);
}

bool same_mac(const uint8_t *at, const mac_address &mac) {
    return load<uint32_t>(at) == load<uint32_t>(mac.bytes) &&
           load<uint16_t>(at + 4) == load<uint16_t>(mac.bytes + 4);
}

// Writes what depends on the payload. `ip_sum`: of the IPv4 header but for length and checksum; `udp_sum`: of
// addresses, protocol and ports.
void finish(uint8_t *frame, uint8_t *udp, uint64_t ip_sum, uint64_t udp_sum, uint32_t payload_bytes) {
    const uint32_t udp_bytes = udp_header_bytes + payload_bytes;
    const auto header_bytes = static_cast<uint32_t>(udp - (frame + at_ip));
    const uint16_t ip_length = rte_cpu_to_be_16(static_cast<uint16_t>(header_bytes + udp_bytes));
    const uint16_t udp_length = rte_cpu_to_be_16(static_cast<uint16_t>(udp_bytes));
    store(frame + at_ip_length, ip_length);
    store(frame + at_ip_checksum, checksum_field(checksum_add(ip_sum, ip_length)));
    store(udp + at_udp_length, udp_length);
    // The length counts twice: in the pseudo-header and in the UDP header.
    const uint64_t sum = checksum_add(udp_sum, uint64_t{udp_length} + udp_length);
    const uint16_t field = checksum_field(checksum_bytes(sum, udp + udp_header_bytes, payload_bytes));
    store<uint16_t>(udp + at_udp_checksum, field == 0 ? 0xffff : field);  // 0 says "none"
}

}  // namespace

frame_template frame_prepare(const flow &f) {
    frame_template t{};
    uint8_t *const h = t.header;
    store(h, f.destination_mac);
    store(h + RTE_ETHER_ADDR_LEN, f.source_mac);
    store<uint16_t>(h + at_type, RTE_BE16(RTE_ETHER_TYPE_IPV4));
    h[at_ip] = RTE_IPV4_VHL_DEF;
    store(h + at_fragment, dont_fragment);
    store(h + at_time_to_live, time_and_protocol(IPPROTO_UDP));
    store(h + at_addresses, rte_cpu_to_be_32(f.source_ip));
    store(h + at_destination_ip, rte_cpu_to_be_32(f.destination_ip));
    store(h + at_udp, rte_cpu_to_be_16(f.source_port));
    store(h + at_udp + at_destination_port, rte_cpu_to_be_16(f.destination_port));
    t.ip_sum = checksum_fold(checksum_bytes(0, h + at_ip, ip_header_bytes));
    constexpr uint32_t addresses_and_ports = 8 + 4;
    t.udp_sum = checksum_fold(checksum_bytes(protocol_word, h + at_addresses, addresses_and_ports));
    return t;
}

void frame_write(uint8_t *frame, const frame_template &t, uint32_t payload_bytes) {
    std::memcpy(frame, t.header, sizeof t.header);
    finish(frame, frame + at_udp, t.ip_sum, t.udp_sum, payload_bytes);
}

void frame_turn(uint8_t *frame, uint32_t payload_bytes) {
    // Both MAC addresses change places in one load and one store; the last four bytes stay.
    using bytes16 = uint8_t __attribute__((vector_size(16)));
    const auto start = load<bytes16>(frame);
    store(frame, __builtin_shufflevector(start, start, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 12, 13, 14, 15));

    const uint32_t header_bytes = (frame[at_ip] & RTE_IPV4_HDR_IHL_MASK) * RTE_IPV4_IHL_MULTIPLIER;
    uint8_t *const udp = frame + at_ip + header_bytes;
    // Options were meant for the way here (a source route, a record): an answer carries "end of options" in
    // their place.
    if (unlikely(header_bytes != ip_header_bytes))
        std::memset(frame + at_udp, 0, header_bytes - ip_header_bytes);

    const uint16_t version = frame[at_ip];  // with a type of service of 0
    store(frame + at_ip, version);
    store<uint16_t>(frame + at_identification, 0);
    store(frame + at_fragment, dont_fragment);
    store(frame + at_time_to_live, time_and_protocol(IPPROTO_UDP));

    // Sums do not change when their words change places.
    const auto addresses = load<uint64_t>(frame + at_addresses);
    const auto ports = load<uint32_t>(udp);
    store(frame + at_addresses, std::rotl(addresses, 32));
    store(udp, std::rotl(ports, 16));
    const uint32_t fixed = uint32_t{version} + dont_fragment + time_and_protocol(IPPROTO_UDP);
    finish(frame, udp, checksum_add(addresses, fixed),
           checksum_add(addresses, uint64_t{ports} + protocol_word), payload_bytes);
}

parse_result frame_parse(const uint8_t *frame, uint32_t bytes, const local_address &us, parsed_frame *out,
                         drop *why) {
    const auto dropped = [why](drop reason) {
        *why = reason;
        return parse_result::dropped;
    };

    if (unlikely(bytes < at_ip)) return dropped(drop::runt);
    const auto type = load<uint16_t>(frame + at_type);
    if (unlikely(type != RTE_BE16(RTE_ETHER_TYPE_IPV4))) {
        constexpr mac_address broadcast = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
        if (type != RTE_BE16(RTE_ETHER_TYPE_ARP)) return dropped(drop::not_ipv4);
        if (!same_mac(frame, us.mac) && !same_mac(frame, broadcast)) return dropped(drop::not_for_us);
        return parse_result::control;
    }
    // A broadcast never carries what is meant for one address (RFC 1122, 3.3.6).
    if (unlikely(!same_mac(frame, us.mac))) return dropped(drop::not_for_us);

    if (unlikely(bytes < at_udp)) return dropped(drop::runt);
    const uint32_t header_bytes = (frame[at_ip] & RTE_IPV4_HDR_IHL_MASK) * RTE_IPV4_IHL_MULTIPLIER;
    const uint32_t ip_bytes = rte_be_to_cpu_16(load<uint16_t>(frame + at_ip_length));
    if (unlikely(frame[at_ip] >> 4 != IPVERSION || header_bytes < ip_header_bytes || ip_bytes < header_bytes))
        return dropped(drop::bad_ip_header);
    if (unlikely(ip_bytes > bytes - at_ip)) return dropped(drop::runt);

    const auto addresses = load<uint64_t>(frame + at_addresses);
    uint64_t ip_sum = checksum_add(addresses, load<uint32_t>(frame + at_time_to_live));
    ip_sum = checksum_add(ip_sum, load<uint64_t>(frame + at_ip));
    if (unlikely(header_bytes != ip_header_bytes))
        ip_sum = checksum_bytes(ip_sum, frame + at_udp, header_bytes - ip_header_bytes);
    if (unlikely(checksum_fold(ip_sum) != 0xffff)) return dropped(drop::bad_ip_checksum);

    if (unlikely(load<uint32_t>(frame + at_destination_ip) != rte_cpu_to_be_32(us.ip)))
        return dropped(drop::not_for_us);
    if (unlikely((load<uint16_t>(frame + at_fragment) & fragment_mask) != 0))
        return dropped(drop::ip_fragment);
    if (unlikely(frame[at_protocol] != IPPROTO_UDP)) {
        if (frame[at_protocol] == IPPROTO_ICMP) return parse_result::control;
        return dropped(drop::not_udp);
    }

    const uint8_t *const udp = frame + at_ip + header_bytes;
    const uint32_t room = ip_bytes - header_bytes;
    if (unlikely(room < udp_header_bytes)) return dropped(drop::bad_udp_length);
    const auto udp_length = load<uint16_t>(udp + at_udp_length);
    const uint32_t udp_bytes = rte_be_to_cpu_16(udp_length);
    if (unlikely(udp_bytes < udp_header_bytes || udp_bytes > room)) return dropped(drop::bad_udp_length);
    if (likely(load<uint16_t>(udp + at_udp_checksum) != 0)) {
        const uint64_t sum = checksum_add(addresses, uint64_t{protocol_word} + udp_length);
        if (unlikely(checksum_fold(checksum_bytes(sum, udp, udp_bytes)) != 0xffff))
            return dropped(drop::bad_udp_checksum);
    }

    const auto queue =
        static_cast<uint16_t>(rte_be_to_cpu_16(load<uint16_t>(udp + at_destination_port)) - us.first_port);
    if (unlikely(queue != us.queue))
        return dropped(queue < us.queues ? drop::misdirected : drop::unknown_port);
    out->payload_offset = at_ip + header_bytes + udp_header_bytes;
    out->payload_bytes = udp_bytes - udp_header_bytes;
    return parse_result::udp;
}

}  // namespace wt
