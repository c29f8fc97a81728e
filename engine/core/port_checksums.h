// Checksums of UDP over IPv4 that a port computes or has checked (rte_mbuf_core.h has the rules for both).
#pragma once

#include <rte_byteorder.h>
#include <rte_mbuf.h>
#include <rte_mbuf_ptype.h>

#include "core/checksum.h"
#include "core/frame_write.h"
#include "core/packet.h"
#include "core/plain_frame.h"

namespace wt {

// Leaves to the port what `flags` say: RTE_MBUF_F_TX_IPV4 and RTE_MBUF_F_TX_UDP_CKSUM, and where it computes
// that of IPv4, too, RTE_MBUF_F_TX_IP_CKSUM. The frame's headers are ours, without options. In the place of
// its checksum UDP has the sum of the pseudo-header, and IPv4 has 0: hardware goes on from there.
inline void leave_checksums_to_port(rte_mbuf *m, uint64_t flags) {
    constexpr uint64_t lengths = offset::ip | uint64_t{offset::udp - offset::ip} << RTE_MBUF_L2_LEN_BITS;
    uint8_t *const frame = frame_of(m);
    const uint64_t fixed = uint64_t{frame_udp_protocol} + load<uint16_t>(frame + offset::udp_length);
    store(frame + offset::udp_checksum,
          checksum_fold(checksum_add(load<uint64_t>(frame + offset::addresses), fixed)));
    if (flags & RTE_MBUF_F_TX_IP_CKSUM) store<uint16_t>(frame + offset::ip_checksum, 0);
    m->tx_offload = lengths;
    m->packet_type = RTE_PTYPE_L4_NONFRAG;  // net_ena reads there that frames are not to be cut, as ours are
    m->ol_flags |= flags;                   // beside those that say what the mbuf is
}

// Does for the bytes of a frame what the port does for the frame itself.
inline void complete_checksums(uint8_t *frame, uint64_t flags) {
    if (!(flags & RTE_MBUF_F_TX_UDP_CKSUM)) return;
    const uint32_t udp_bytes = rte_be_to_cpu_16(load<uint16_t>(frame + offset::udp_length));
    const uint16_t udp = checksum_field(checksum_bytes(0, frame + offset::udp, udp_bytes));
    store<uint16_t>(frame + offset::udp_checksum, udp == 0 ? 0xffff : udp);
    if (flags & RTE_MBUF_F_TX_IP_CKSUM)
        store(frame + offset::ip_checksum,
              checksum_field(checksum_bytes(0, frame + offset::ip, offset::udp - offset::ip)));
}

// What the port says of a received frame. Its flags for "good" are also those for "there is no sum in the
// frame, but its data has not been damaged". Of a sum that it calls bad, or knows nothing of, ours decides.
inline known_sums checked_by_port(const rte_mbuf *m) {
    constexpr uint64_t udp = RTE_MBUF_F_RX_L4_CKSUM_GOOD, both = udp | RTE_MBUF_F_RX_IP_CKSUM_GOOD;
    static_assert((RTE_MBUF_F_RX_L4_CKSUM_NONE & udp) != 0 && (RTE_MBUF_F_RX_L4_CKSUM_BAD & udp) == 0 &&
                  (RTE_MBUF_F_RX_IP_CKSUM_NONE & both) != 0 && (RTE_MBUF_F_RX_IP_CKSUM_BAD & both) == 0);
    if (likely((m->ol_flags & both) == both)) return known_sums::both;
    return (m->ol_flags & udp) != 0 ? known_sums::udp : known_sums::none;
}

}  // namespace wt
