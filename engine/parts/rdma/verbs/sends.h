// The mbufs of a send queue that its device has, in the order of their posts, in which they end, too: a
// completion says that all before it have ended.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace wt {

struct posted_sends {
    std::vector<rte_mbuf *> places;  // null: copied when it was posted
    uint32_t most = 0;               // sends at once
    uint32_t mask = 0;
    uint32_t head = 0, tail = 0;  // of places, without end

    void resize(uint32_t depth) {
        most = depth;
        places.assign(std::bit_ceil(depth), nullptr);
        mask = static_cast<uint32_t>(places.size()) - 1;
        head = tail = 0;
    }
};

inline uint32_t sends_under_way(const posted_sends &p) { return p.tail - p.head; }

inline uint32_t sends_room(const posted_sends &p) { return p.most - sends_under_way(p); }

inline void sends_add(posted_sends &p, rte_mbuf *m) { p.places[p.tail++ & p.mask] = m; }

// Frees the mbufs of all sends before number `end`. A number that no send under way has is not believed.
inline void sends_free(posted_sends &p, uint32_t end) {
    if (unlikely(end - p.head > sends_under_way(p))) return;
    while (p.head != end) {
        const uint32_t at = p.head & p.mask, in_one_piece = std::min(end - p.head, p.mask + 1 - at);
        rte_pktmbuf_free_bulk(&p.places[at], in_one_piece);  // which skips null
        p.head += in_one_piece;
    }
}

}  // namespace wt
