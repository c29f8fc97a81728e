// The mbufs of one direction of a queue that its transport has, in the order of their posts.
//
// A completion names its mbuf. Providers that complete in order need not tell of each one: what was posted
// before has ended, too. With the others a place may become free before an earlier one.
#pragma once

#include <rte_mbuf.h>

#include <bit>
#include <cstdint>
#include <vector>

namespace wt {

struct posted_mbufs {
    std::vector<rte_mbuf *> places;  // null: ended before an earlier one
    uint32_t most = 0;               // mbufs at once
    uint32_t mask = 0;
    uint32_t head = 0, tail = 0;  // of places, without end
    uint32_t count = 0;

    void resize(uint32_t depth) {
        most = depth;
        places.assign(std::bit_ceil(2 * depth), nullptr);
        mask = static_cast<uint32_t>(places.size()) - 1;
    }
};

inline bool posted_is_full(const posted_mbufs &p) { return p.count == p.most || p.tail - p.head > p.mask; }

// Its place is kept in the mbuf, in a field that is free while a driver has it.
inline void posted_add(posted_mbufs &p, rte_mbuf *m) {
    m->hash.usr = p.tail & p.mask;
    p.places[p.tail++ & p.mask] = m;
    p.count++;
}

// Takes out one mbuf that has ended.
inline void posted_remove(posted_mbufs &p, const rte_mbuf *m) {
    p.places[m->hash.usr] = nullptr;
    p.count--;
    while (p.head != p.tail && p.places[p.head & p.mask] == nullptr) p.head++;
}

// Frees all mbufs up to `last`, which has ended; null: all.
inline void posted_free(posted_mbufs &p, const rte_mbuf *last) {
    while (p.head != p.tail) {
        rte_mbuf *const m = p.places[p.head & p.mask];
        p.places[p.head++ & p.mask] = nullptr;
        if (m == nullptr) continue;
        p.count--;
        rte_pktmbuf_free(m);
        if (m == last) break;
    }
}

}  // namespace wt
