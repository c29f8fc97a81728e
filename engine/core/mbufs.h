// Mbufs from a pool and back, a burst at once.
#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

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

// Gives packets back, as rte_pktmbuf_free_bulk(). Where all are whole packets of one pool, which is usual,
// their pointers go into the pool as they stand here: that function writes them one by one to an array of its
// own, and copies this with wide loads, which wait for its stores.
inline void mbufs_give_back(rte_mbuf **packets, uint32_t count) {
    // refcnt and nb_segs of 1 among the four neighbours that begin at data_off
    constexpr uint64_t counts = 0x0000'ffff'ffff'0000, of_one = 0x0000'0001'0001'0000;
    static_assert(offsetof(rte_mbuf, refcnt) == offsetof(rte_mbuf, data_off) + 2 &&
                  offsetof(rte_mbuf, nb_segs) == offsetof(rte_mbuf, data_off) + 4);
    rte_mempool *const pool = packets[0]->pool;
    uint64_t unlike = 0;
    for (uint32_t i = 0; i < count; i++) {
        const rte_mbuf *const m = packets[i];
        uint64_t neighbours;
        std::memcpy(&neighbours, reinterpret_cast<const char *>(m) + offsetof(rte_mbuf, data_off),
                    sizeof neighbours);
        unlike |= (neighbours & counts) ^ of_one;
        unlike |= m->ol_flags & (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL);
        unlike |= reinterpret_cast<uintptr_t>(m->next);
        unlike |= reinterpret_cast<uintptr_t>(m->pool) ^ reinterpret_cast<uintptr_t>(pool);
    }
    if (likely(unlike == 0))
        rte_mempool_put_bulk(pool, reinterpret_cast<void **>(packets), count);
    else
        rte_pktmbuf_free_bulk(packets, count);
}

}  // namespace wt
