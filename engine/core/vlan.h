// The tag of IEEE 802.1Q, on bytes alone.
//
// nic_tx adds it and nic_rx takes it off, as a NIC can do: whatever stands between the two, handlers too,
// sees frames without a tag.
#pragma once

#include <rte_byteorder.h>
#include <rte_ether.h>

#include "core/checksum.h"

namespace wt {

constexpr uint32_t vlan_tag_bytes = 4, vlan_tag_offset = 2 * RTE_ETHER_ADDR_LEN;
constexpr uint16_t vlan_id_mask = 0xfff;

// Ethertype and control information as they stand in a frame. `priority`: 0 to 7 (IEEE 802.1p).
inline uint32_t vlan_tag_of(uint16_t id, uint8_t priority) {
    const auto control = static_cast<uint16_t>(priority << 13 | id);
    return rte_cpu_to_be_32(uint32_t{RTE_ETHER_TYPE_VLAN} << 16 | control);
}

// Whether an ethertype, as it stands in a frame, begins a tag: of a customer, of a provider (IEEE 802.1ad),
// or of a provider before that standard.
inline bool is_vlan_type(uint16_t type) {
    return type == RTE_BE16(RTE_ETHER_TYPE_VLAN) || type == RTE_BE16(RTE_ETHER_TYPE_QINQ) ||
           type == RTE_BE16(RTE_ETHER_TYPE_QINQ1);
}

// How many tags begin a frame of at least 14 bytes: 0, 1, or 2 for two and more.
inline uint32_t vlan_tags_in(const uint8_t *frame, uint32_t bytes) {
    if (!is_vlan_type(load<uint16_t>(frame + vlan_tag_offset))) return 0;
    constexpr uint32_t next = vlan_tag_offset + vlan_tag_bytes;
    return bytes >= next + 2 && is_vlan_type(load<uint16_t>(frame + next)) ? 2 : 1;
}

}  // namespace wt
