#include "core/frame_write.h"

#include <rte_ether.h>

namespace wt {

frame_template frame_prepare(const flow &f) {
    frame_template t{};
    uint8_t *const h = t.header;
    store(h, f.destination_mac);
    store(h + RTE_ETHER_ADDR_LEN, f.source_mac);
    store<uint16_t>(h + offset::type, RTE_BE16(RTE_ETHER_TYPE_IPV4));
    h[offset::ip] = RTE_IPV4_VHL_DEF;
    store(h + offset::fragment, frame_dont_fragment);
    store(h + offset::time_to_live, frame_time_and_udp);
    store(h + offset::addresses, rte_cpu_to_be_32(f.source_ip));
    store(h + offset::destination_ip, rte_cpu_to_be_32(f.destination_ip));
    store(h + offset::udp, rte_cpu_to_be_16(f.source_port));
    store(h + offset::destination_port, rte_cpu_to_be_16(f.destination_port));
    frame_resize(t, 0);
    return t;
}

void frame_resize(frame_template &t, uint32_t payload_bytes) {
    uint8_t *const h = t.header;
    store(h + offset::ip_length,
          rte_cpu_to_be_16(static_cast<uint16_t>(ip_udp_header_bytes + payload_bytes)));
    store<uint16_t>(h + offset::ip_checksum, 0);
    store(h + offset::ip_checksum, checksum_field(checksum_bytes(0, h + offset::ip, ipv4_header_bytes)));
    const uint16_t udp_length = rte_cpu_to_be_16(static_cast<uint16_t>(udp_header_bytes + payload_bytes));
    store(h + offset::udp_length, udp_length);
    constexpr uint32_t addresses_to_length = 8 + 4 + 2;
    t.udp_sum =
        checksum_bytes(uint64_t{frame_udp_protocol} + udp_length, h + offset::addresses, addresses_to_length);
    t.payload_bytes = payload_bytes;
}

}  // namespace wt
