#include "parts/rdma/verbs/channel.h"

#include <algorithm>
#include <cerrno>

#include "core/mbufs.h"
#include "core/packet.h"

namespace wt {

namespace {

constexpr int burst = 64;            // completions of one call
constexpr uint32_t post_burst = 32;  // receives are posted so many at a time, by one call

void break_off(verbs_channel &c) { c.broken.store(true, std::memory_order_relaxed); }

// A receive that ended with an error. Those that end with their queue pair were never packets.
void take_failed(verbs_channel &c, ibv_wc_status status, rte_mbuf *m) {
    if (status != IBV_WC_WR_FLUSH_ERR) c.rx.errors.add(status);
    break_off(c);
    rte_pktmbuf_free(m);
}

// Returns how many of the mbufs were posted.
uint32_t post_receives(verbs_channel &c, rte_mbuf *const *mbufs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        c.rx.chain.pieces[i].addr = reinterpret_cast<uintptr_t>(message_of(mbufs[i])) - c.rx.ahead;
        c.rx.chain.requests[i].wr_id = reinterpret_cast<uintptr_t>(mbufs[i]);
    }
    const post_result done = post_chain(c.pair, c.rx.chain, count);
    if (unlikely(done.error != 0)) verbs_refused(c, c.rx.full, c.rx.refused, done.error);
    for (uint32_t i = 0; i < done.count; i++) posted_add(c.rx.posted, mbufs[i]);
    return done.count;
}

uint16_t receive(verbs_channel &c, rte_mbuf **packets, uint16_t most) {
    ibv_wc done[burst];
    const uint32_t count = verbs_poll(c, c.receives, std::min<int>(most, burst), done, c.rx.refused);
    if (likely(count == 0)) {
        if (unlikely(c.rx.posted.count == 0)) verbs_post_receives(c);  // nothing else would
        return 0;
    }
    uint16_t received = 0;
    for (uint32_t i = 0; i < count; i++) {
        auto *const m = reinterpret_cast<rte_mbuf *>(done[i].wr_id);
        posted_remove(c.rx.posted, m);
        if (unlikely(done[i].status != IBV_WC_SUCCESS)) {
            take_failed(c, done[i].status, m);
            continue;
        }
        rte_prefetch0(message_of(m));
        set_length(m, message_offset + done[i].byte_len - c.rx.ahead);
        packets[received++] = m;
    }
    c.rx.dry += c.rx.posted.count == 0;
    const uint32_t missing = c.rx.posted.most - c.rx.posted.count;
    if (missing >= post_burst || missing > c.rx.posted.count) verbs_post_receives(c);
    return received;
}

// Writes the requests of a burst. Every signal_every'th since the channel was prepared is signalled.
void describe(verbs_channel &c, rte_mbuf *const *packets, uint32_t count) {
    uint32_t unsignalled = c.tx.unsignalled;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t bytes = packets[i]->pkt_len - message_offset;
        ibv_send_wr &request = c.tx.chain.requests[i];
        c.tx.chain.pieces[i].addr = reinterpret_cast<uintptr_t>(message_of(packets[i]));
        c.tx.chain.pieces[i].length = bytes;
        request.wr_id = c.tx.posted.tail + i;
        request.send_flags = bytes <= c.tx.inline_bytes ? IBV_SEND_INLINE : 0;
        if (++unsignalled == c.tx.signal_every) {
            request.send_flags |= IBV_SEND_SIGNALED;
            unsignalled = 0;
        }
    }
}

// Keeps the mbufs of what was posted. Those of copied messages are free already.
void keep(verbs_channel &c, rte_mbuf **packets, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const bool copied = c.tx.chain.requests[i].send_flags & IBV_SEND_INLINE;
        if (copied) rte_pktmbuf_free(packets[i]);
        sends_add(c.tx.posted, copied ? nullptr : packets[i]);
    }
    c.tx.unsignalled = (c.tx.unsignalled + count) % c.tx.signal_every;
}

uint16_t send(verbs_channel &c, rte_mbuf **packets, uint16_t count) {
    if (sends_under_way(c.tx.posted) > 0) verbs_reap(c);
    const uint32_t most = std::min<uint32_t>(count, sends_room(c.tx.posted));
    c.tx.full += most < count;
    if (unlikely(most == 0)) return 0;
    describe(c, packets, most);
    const post_result done = post_chain(c.pair, c.tx.chain, most);
    if (unlikely(done.error != 0)) verbs_refused(c, c.tx.full, c.tx.refused, done.error);
    keep(c, packets, done.count);
    return static_cast<uint16_t>(done.count);
}

}  // namespace

uint32_t verbs_poll(verbs_channel &c, ibv_cq *queue, int most, ibv_wc *done, rdma_errors &refused) {
    const int count = ibv_poll_cq(queue, most, done);
    if (likely(count >= 0)) return static_cast<uint32_t>(count);
    refused.add(-count);
    break_off(c);
    return 0;
}

void verbs_refused(verbs_channel &c, uint64_t &full, rdma_errors &refused, int error) {
    if (likely(error == ENOMEM)) {
        full++;
        return;
    }
    refused.add(error);
    break_off(c);
}

void verbs_failed(verbs_channel &c, ibv_wc_status status) {
    c.tx.errors.add(status);
    break_off(c);
}

void verbs_prepare(verbs_channel &c, uint32_t receives, uint32_t sends, uint32_t key) {
    c.broken.store(false, std::memory_order_relaxed);
    c.rx.posted.resize(receives);
    c.rx.chain.resize(post_burst, key);
    const uint32_t room =
        rte_pktmbuf_data_room_size(c.rx.pool) - RTE_PKTMBUF_HEADROOM - frame_header_bytes + c.rx.ahead;
    for (ibv_sge &piece : c.rx.chain.pieces) piece.length = room;
    c.tx.posted.resize(sends);
    c.tx.chain.resize(sends, key);
    for (ibv_send_wr &request : c.tx.chain.requests) request.opcode = IBV_WR_SEND;
    c.tx.signal_every = std::min(c.tx.signal_every, sends);
    c.tx.unsignalled = 0;
}

void verbs_post_receives(verbs_channel &c) {
    uint32_t most = post_burst;
    while (!c.broken.load(std::memory_order_relaxed) && !posted_is_full(c.rx.posted)) {
        rte_mbuf *mbufs[post_burst];
        const uint32_t count = std::min(most, c.rx.posted.most - c.rx.posted.count);
        if (unlikely(!mbufs_take(c.rx.pool, mbufs, count))) {
            if (count > 1) {  // a pool that has fewer gives those
                most = count / 2;
                continue;
            }
            c.rx.no_mbufs++;
            return;
        }
        const uint32_t posted = post_receives(c, mbufs, count);
        if (likely(posted == count)) continue;
        rte_pktmbuf_free_bulk(mbufs + posted, count - posted);
        return;
    }
}

void verbs_reap(verbs_channel &c) {
    ibv_wc done[burst];
    const uint32_t count = verbs_poll(c, c.sends, burst, done, c.tx.refused);
    for (uint32_t i = 0; i < count; i++) {
        if (unlikely(done[i].status != IBV_WC_SUCCESS)) verbs_failed(c, done[i].status);
        sends_free(c.tx.posted, static_cast<uint32_t>(done[i].wr_id) + 1);
    }
}

void verbs_free(verbs_channel &c) {
    posted_free(c.rx.posted, nullptr);
    sends_free(c.tx.posted, c.tx.posted.tail);
}

const queue_ops verbs_queue_ops = {
    .rx = [](void *queue, rte_mbuf **packets,
             uint16_t most) { return receive(*static_cast<verbs_channel *>(queue), packets, most); },
    .tx = [](void *queue, rte_mbuf **packets,
             uint16_t count) { return send(*static_cast<verbs_channel *>(queue), packets, count); },
};

}  // namespace wt
