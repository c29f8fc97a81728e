// Packets whose bodies are being copied, in the order in which they will leave.
//
// One ring and four cursors, which only advance. An entry is a packet with its copy; a packet with more
// copies has an entry without a packet for each of them before its own.
//
//   head <= ended    copied: they wait for room in the ring to their dispatcher
//   ended <= started their copies run, or wait behind one that does
//   started <= tail  made: their copies are not started
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace wt {

// What is known of an entry beside its mbuf.
struct pending_copy {
    const uint8_t *from;
    uint8_t *to;
    uint64_t since;  // TSC at the start of the copy
    uint32_t bytes;
    uint16_t link;  // of its application, to which the packet goes
    bool runs;      // the copier has it; false: it needs no copy any more
};
static_assert(sizeof(pending_copy) == 32);

struct pending_packets {
    std::vector<rte_mbuf *>
        packets;  // null: the copy is of the next packet; apart: a ring takes runs of them
    std::vector<pending_copy> copies;
    uint32_t mask;
    uint32_t head = 0, ended = 0, started = 0, tail = 0;  // modulo 2^32
    uint32_t running = 0;                                 // copies that the copier has

    // `capacity`: a power of two.
    explicit pending_packets(uint32_t capacity) : packets(capacity), copies(capacity), mask(capacity - 1) {}

    uint32_t count() const { return tail - head; }
    uint32_t room() const { return mask + 1 - count(); }
    rte_mbuf *&packet(uint32_t at) { return packets[at & mask]; }
    pending_copy &copy(uint32_t at) { return copies[at & mask]; }
};

inline void pending_push(pending_packets &p, rte_mbuf *m, const pending_copy &copy) {
    p.packet(p.tail) = m;
    p.copy(p.tail++) = copy;
}

// The oldest packets that are copied and go to one link, `most` of them at the most: a run of mbufs.
inline uint32_t pending_run(pending_packets &p, uint32_t most, rte_mbuf *const **first, uint16_t *link) {
    while (p.head != p.ended && p.packet(p.head) == nullptr) p.head++;
    const uint32_t begin = p.head & p.mask;
    const uint32_t last = std::min({p.ended - p.head, p.mask + 1 - begin, most});
    uint32_t count = 0;
    while (count < last && p.packets[begin + count] != nullptr &&
           p.copies[begin + count].link == p.copies[begin].link)
        count++;
    *first = p.packets.data() + begin;
    *link = p.copies[begin].link;
    return count;
}

// Whether a copy runs of the packet whose entries begin at `at`; *end is behind them.
inline bool pending_runs(pending_packets &p, uint32_t at, uint32_t *end) {
    bool runs = false;
    for (bool more = true; more; at++) {
        runs |= p.copy(at).runs;
        more = p.packet(at) == nullptr;
    }
    *end = at;
    return runs;
}

// Takes out the packets of which copies run, because they never end, and closes the gaps: nothing runs any
// more. Returns how many there are, at most `running`, and writes them to `out`.
inline uint32_t pending_abandon(pending_packets &p, rte_mbuf **out) {
    uint32_t to = p.ended, started = p.ended, count = 0;
    for (uint32_t at = p.ended, end; at != p.tail; at = end) {
        if (pending_runs(p, at, &end)) {
            out[count++] = p.packet(end - 1);
            continue;
        }
        for (; at != end; at++) {
            started += at - p.ended < p.started - p.ended;
            p.packet(to) = p.packet(at);
            p.copy(to++) = p.copy(at);
        }
    }
    p.ended = p.started = started;
    p.tail = to;
    p.running = 0;
    return count;
}

// Forgets all entries, which have no packets: nothing runs any more, and nothing leaves.
inline void pending_clear(pending_packets &p) {
    p.head = p.ended = p.started = p.tail;
    p.running = 0;
}

}  // namespace wt
