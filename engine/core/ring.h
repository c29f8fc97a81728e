// The queue at a hand-over: a thin wrapper of rte_ring with one producer and one consumer.
//
// Lives in ordinary memory, so that unit tests need no EAL. Everything but create is inline and
// allocation-free.
#pragma once

#include <rte_ring.h>
#include <rte_ring_elem.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "core/node_memory.h"
#include "core/refusal.h"

namespace wt {

struct ring_free {
    void operator()(rte_ring *r) const { std::free(r); }
};

// `T` is 4 bytes or a multiple: rte_ring's element size.
template <typename T>
struct spsc_ring {
    static_assert(sizeof(T) % 4 == 0);
    std::unique_ptr<rte_ring, ring_free> ring;
    std::string name;
    int node;              // of NUMA on which its memory is to be; -1: any
    bool is_there = true;  // on that node

    // `size` entries, a power of two; one stays empty. Throws refusal.
    spsc_ring(std::string ring_name, uint32_t size, int on_node = -1)
        : name(std::move(ring_name)), node(on_node) {
        if (!std::has_single_bit(size) || size > RTE_RING_SZ_MASK)
            throw refusal(name + ": a ring of " + std::to_string(size) + " entries is not possible",
                          "use a power of two");
        const size_t whole_lines = RTE_ALIGN_CEIL(bytes_for(size), RTE_CACHE_LINE_SIZE);
        ring.reset(static_cast<rte_ring *>(std::aligned_alloc(RTE_CACHE_LINE_SIZE, whole_lines)));
        if (!ring) throw std::bad_alloc();
        if (node >= 0) is_there = place_on_node(ring.get(), bytes_for(size), node);
        rte_ring_init(ring.get(), name.substr(0, RTE_RING_NAMESIZE - 1).c_str(), size,
                      RING_F_SP_ENQ | RING_F_SC_DEQ);
    }

    // What rte_ring_get_memsize_elem says, which C++ cannot link in DPDK 24.11: no extern "C".
    static size_t bytes_for(uint32_t size) { return sizeof(rte_ring) + size_t{size} * sizeof(T); }
    size_t bytes() const { return bytes_for(ring->size); }

    // Producer: entries that a put would take now.
    uint32_t room() const { return rte_ring_free_count(ring.get()); }
    // Consumer: entries that a take would give now.
    uint32_t used() const { return rte_ring_count(ring.get()); }
    uint32_t capacity() const { return rte_ring_get_capacity(ring.get()); }

    // Both return the number of moved entries: fewer than `count` where the ring is full or empty.
    //
    // They copy by memcpy, between rte_ring's two halves of an operation: its own loops take five
    // instructions an entry. Nothing is written where nothing moves: the other side would find its cache line
    // gone.
    uint32_t put(const T *from, uint32_t count) {
        rte_ring_zc_data to{};
        count = rte_ring_enqueue_zc_burst_elem_start(ring.get(), sizeof(T), count, &to, nullptr);
        if (count == 0) return 0;
        std::memcpy(to.ptr1, from, to.n1 * sizeof(T));
        if (unlikely(to.n1 < count)) std::memcpy(to.ptr2, from + to.n1, (count - to.n1) * sizeof(T));
        rte_ring_enqueue_zc_elem_finish(ring.get(), count);
        return count;
    }
    uint32_t take(T *to, uint32_t count) {
        rte_ring_zc_data from{};
        count = rte_ring_dequeue_zc_burst_elem_start(ring.get(), sizeof(T), count, &from, nullptr);
        if (count == 0) return 0;
        std::memcpy(to, from.ptr1, from.n1 * sizeof(T));
        if (unlikely(from.n1 < count)) std::memcpy(to + from.n1, from.ptr2, (count - from.n1) * sizeof(T));
        rte_ring_dequeue_zc_elem_finish(ring.get(), count);
        return count;
    }
    // All of them or none.
    bool put_whole(const T *from, uint32_t count) {
        return rte_ring_sp_enqueue_bulk_elem(ring.get(), from, sizeof(T), count, nullptr) == count;
    }
};

}  // namespace wt
