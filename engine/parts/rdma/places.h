// READ and WRITE in place of messages: where each operation of a client's queue stands from its post to its
// completion. nic_tx takes places, nic_rx gives them back.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "core/packet.h"
#include "core/ring.h"
#include "parts/rdma/region.h"
#include "wires/port.h"

namespace wt {

struct operation_places {
    region_shape region = {};
    bool writes = false;
    uint8_t *local = nullptr;  // reads: a piece for each place; writes: the region as it is to become
    std::vector<rte_mbuf *> holding = {};            // by place
    std::unique_ptr<spsc_ring<uint32_t>> free = {};  // places: from nic_rx to nic_tx

    // nic_tx
    alignas(RTE_CACHE_LINE_SIZE) std::vector<uint32_t> taken = {};  // places for the next posts
    uint32_t taken_count = 0;

    // nic_rx
    alignas(RTE_CACHE_LINE_SIZE) uint64_t done = 0;  // operations
    uint64_t wrong = 0;                              // pieces that were read and are not what stands there
};

inline void places_open(operation_places &p, uint32_t count) {
    p.holding.assign(count, nullptr);
    p.taken.assign(count, 0);
    p.free = std::make_unique<spsc_ring<uint32_t>>("places", std::bit_ceil(count + 1));
    for (uint32_t place = 0; place < count; place++) p.free->put(&place, 1);
}

// Frees the mbufs of operations that have not ended. Their queue must be closed.
inline void places_free(operation_places &p) {
    rte_pktmbuf_free_bulk(p.holding.data(), static_cast<unsigned>(p.holding.size()));
    std::ranges::fill(p.holding, nullptr);
}

// nic_tx: how many of `count` mbufs have a place, which they keep in a field that is free while a device has
// them. nic_rx may see a completion as soon as its operation is posted: both are told before.
inline uint32_t places_take(operation_places &p, rte_mbuf *const *mbufs, uint32_t count) {
    if (p.taken_count < count)
        p.taken_count += p.free->take(p.taken.data() + p.taken_count, count - p.taken_count);
    const uint32_t most = std::min(count, p.taken_count);
    for (uint32_t i = 0; i < most; i++) {
        const uint32_t place = p.taken[--p.taken_count];
        mbufs[i]->hash.usr = place;
        p.holding[place] = mbufs[i];
    }
    return most;
}

// nic_tx: of mbufs that were not posted.
inline void places_return(operation_places &p, rte_mbuf *const *mbufs, uint32_t count) {
    while (count-- > 0) {
        p.holding[mbufs[count]->hash.usr] = nullptr;
        p.taken[p.taken_count++] = mbufs[count]->hash.usr;
    }
}

// nic_rx: the mbuf of an operation that has ended; null: there is none at this place.
inline rte_mbuf *places_end(operation_places &p, uint64_t place) {
    if (unlikely(place >= p.holding.size() || p.holding[place] == nullptr)) return nullptr;
    return std::exchange(p.holding[place], nullptr);
}

// nic_rx: a place whose piece is read no more.
inline void places_give_back(operation_places &p, uint32_t place) { p.free->put(&place, 1); }

// Where an operation's piece is in the region, and here.
inline uint64_t region_position(const operation_places &p, rte_mbuf *m) {
    return position_of(p.region, message_slot_and_generation(message_of(m)));
}
inline uint8_t *local_piece(const operation_places &p, uint64_t position, uint32_t place) {
    return p.local + (p.writes ? position : place * p.region.piece);
}

inline bool is_request(const uint8_t *message) {
    return message[0] == static_cast<uint8_t>(message_kind::request);
}

// nic_rx: the request becomes its own response. False: another piece was read than the one that stands there.
inline bool places_respond(operation_places &p, rte_mbuf *m) {
    const uint64_t position = region_position(p, m);
    p.done++;
    const bool right = p.writes || piece_is_right(p.region, position, local_piece(p, position, m->hash.usr));
    p.wrong += !right;
    message_of(m)[0] = static_cast<uint8_t>(message_kind::response);
    set_length(m, body_offset);
    return right;
}

// Control path: how many places each of `queues` queues has that may post `depth` operations at once. Pieces
// that are read have 256 MiB together.
uint32_t places_of_queue(const region_shape &region, uint64_t depth, size_t queues);

// What a reader of the numbers must know, of a client with so many places a queue and of a server.
void note_operations(port &made, const region_shape &region, bool reads, uint32_t places, uint64_t depth);
void note_idle_server(port &made, bool reads);

// An end's own counters of its operations: how many ended, and what was wrong.
void count_operations(named_counts &all, const region_shape &region, bool reads, uint64_t done,
                      uint64_t wrong);

}  // namespace wt
