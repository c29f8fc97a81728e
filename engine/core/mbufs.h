// Mbufs from a pool, a burst at once.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

namespace wt {

// Takes `count` mbufs for packets of one segment; none and false where the pool has fewer. The caller sets
// their lengths.
//
// rte_pktmbuf_alloc_bulk() resets every field. Here only those are that a driver may have left changed and
// that a sender reads: next is null and refcnt 1 in every free mbuf, and what offloads would need is read
// where ol_flags asks for them.
inline bool mbufs_take(rte_mempool *pool, rte_mbuf **to, uint32_t count) {
    if (unlikely(rte_mempool_get_bulk(pool, reinterpret_cast<void **>(to), count) != 0)) return false;
    for (uint32_t i = 0; i < count; i++) {
        rte_mbuf *const m = to[i];
        // four neighbours: one store
        m->data_off = RTE_PKTMBUF_HEADROOM;
        m->refcnt = 1;
        m->nb_segs = 1;
        m->port = RTE_MBUF_PORT_INVALID;
        m->ol_flags = 0;
    }
    return true;
}

}  // namespace wt
