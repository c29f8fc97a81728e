#include "wires/faults.h"

#include "core/random.h"

namespace wt {

namespace {

uint64_t scaled(double probability) {
    const double whole = probability * 0x1p64;
    return whole >= 0x1p64 ? UINT64_MAX : static_cast<uint64_t>(whole);
}

bool happens(faults &f, uint64_t probability) {
    return probability == UINT64_MAX || random_next(&f.random) < probability;
}

// Sends a packet on; those that it overtakes for the last time follow it. They were held in the order of
// their arrival, so the first of them always is the next that is due.
uint32_t send(faults &f, rte_mbuf *packet, rte_mbuf **out) {
    uint32_t sent = 0, due = 0;
    out[sent++] = packet;
    for (uint32_t i = 0; i < f.held_count; i++)
        if (--f.held[i].overtakes_left == 0) out[sent++] = f.held[due++].packet;
    if (due == 0) return sent;
    f.held_count -= due;
    for (uint32_t i = 0; i < f.held_count; i++) f.held[i] = f.held[i + due];
    return sent;
}

}  // namespace

void faults_init(faults &f, const fault_plan &p, uint64_t seed, rte_mempool *copies) {
    f = {};
    f.loss = scaled(p.loss);
    f.duplicate = scaled(p.duplicate);
    f.reorder = scaled(p.reorder);
    f.reorder_depth = p.reorder_depth;
    f.random = seed;
    f.copies = copies;
}

uint32_t faults_apply(faults &f, rte_mbuf **burst, uint32_t count, rte_mbuf **out) {
    constexpr uint32_t room = sizeof f.held / sizeof f.held[0];
    uint32_t sent = 0;
    for (uint32_t i = 0; i < count; i++) {
        rte_mbuf *packet = burst[i];
        if (happens(f, f.loss)) {
            rte_pktmbuf_free(packet);
            f.lost++;
            continue;
        }
        rte_mbuf *copy =
            happens(f, f.duplicate) ? rte_pktmbuf_copy(packet, f.copies, 0, UINT32_MAX) : nullptr;
        if (happens(f, f.reorder) && f.held_count < room) {
            f.held[f.held_count++] = {packet, f.reorder_depth};
        } else {
            sent += send(f, packet, out + sent);
        }
        if (copy) {
            f.duplicated++;
            sent += send(f, copy, out + sent);
        }
    }
    return sent;
}

uint32_t faults_release(faults &f, rte_mbuf **out) {
    const uint32_t count = f.held_count;
    for (uint32_t i = 0; i < count; i++) out[i] = f.held[i].packet;
    f.held_count = 0;
    return count;
}

}  // namespace wt
