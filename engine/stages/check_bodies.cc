// What app_rx of a server does with requests whose bodies it checks.
#include "core/packet.h"
#include "stages/copying.h"

namespace wt {

static void check_body(body_checking &c, rte_mbuf *m) {
    const message_header h = message_header_read(message_of(m));
    const uint64_t position = source_position(c.layout, h.application, h.slot, h.generation);
    const uint64_t offset = uint64_t{h.segment} * c.segment_body;
    const wrong_bytes wrong =
        source_compare(c.layout.seed, position + offset,
                       rte_pktmbuf_mtod_offset(m, const uint8_t *, body_offset), m->pkt_len - body_offset);
    c.packets++;
    if (likely(wrong.count == 0)) return;
    if (c.wrong_packets++ == 0)
        c.first = {h.slot, h.generation, static_cast<uint32_t>(offset) + wrong.first, h.application};
    c.wrong_bytes += wrong.count;
}

void check_bodies(body_checking &c, rte_mbuf *const *packets, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) check_body(c, packets[i]);
}

}  // namespace wt
