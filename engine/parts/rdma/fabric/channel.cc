#include "parts/rdma/fabric/channel.h"

#include <algorithm>

#include "core/allocation_watch.h"
#include "core/mbufs.h"
#include "core/packet.h"
#include "parts/rdma/fabric/completion.h"

namespace wt {

namespace {

constexpr uint32_t burst = 64;       // completions of one call
constexpr uint32_t post_burst = 32;  // receives are posted so many at a time: the pool is asked once

// A completion with an error: its mbuf goes back to the pool. What ends with its endpoint was never a packet.
void take_error(fid_cq *queue, posted_mbufs &posted, rdma_errors &errors, bool receives) {
    const auto [m, error] = read_failed(queue);
    if (error != 0 && !(receives && error == FI_ECANCELED)) errors.add(error);
    if (m == nullptr) return;
    posted_remove(posted, m);
    rte_pktmbuf_free(m);
}

// Returns how many of the mbufs were posted.
uint32_t post_receives(fabric_channel &c, rte_mbuf *const *mbufs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        rte_mbuf *const m = mbufs[i];
        const ssize_t error =
            fi_recv(c.endpoint.get(), message_of(m), c.rx.bytes, c.descriptor, FI_ADDR_UNSPEC, context_of(m));
        if (unlikely(error != 0)) {
            if (error == -FI_EAGAIN) return i;
            c.rx.refused.add(static_cast<int>(-error));
            c.rx.takes_more = false;  // its connection is gone
            return i;
        }
        posted_add(c.rx.posted, m);
    }
    return count;
}

uint16_t receive(fabric_channel &c, rte_mbuf **packets, uint16_t most) {
    fi_cq_msg_entry done[burst];
    const ssize_t count = fi_cq_read(c.receives.get(), done, std::min<size_t>(most, burst));
    if (likely(count == -FI_EAGAIN)) {
        if (unlikely(c.rx.posted.count == 0)) fabric_post_receives(c);  // nothing else would
        return 0;
    }
    if (unlikely(count < 0)) {
        take_error(c.receives.get(), c.rx.posted, c.rx.errors, true);
        fabric_post_receives(c);
        return 0;
    }
    for (ssize_t i = 0; i < count; i++) {
        rte_mbuf *const m = packets[i] = mbuf_of(done[i].op_context);
        rte_prefetch0(message_of(m));
        posted_remove(c.rx.posted, m);
        set_length(m, message_offset + static_cast<uint32_t>(done[i].len));
    }
    c.rx.received += static_cast<uint64_t>(count);
    c.rx.dry += c.rx.posted.count == 0;
    const uint32_t missing = c.rx.posted.most - c.rx.posted.count;
    if (missing >= post_burst || missing > c.rx.posted.count) fabric_post_receives(c);
    return static_cast<uint16_t>(count);
}

// Whether the provider has taken the packet; -FI_EAGAIN: it has no room.
ssize_t post_send(fabric_channel &c, rte_mbuf *m, uint32_t bytes) {
    if (posted_is_full(c.tx.posted)) return -FI_EAGAIN;
    if (c.tx.signal_every == 1)
        return fi_send(c.endpoint.get(), message_of(m), bytes, c.descriptor, c.peer, context_of(m));
    const bool last = c.tx.posted.count + 1 == c.tx.posted.most;  // nobody would say that there is room again
    const bool signalled = last || c.tx.unsignalled + 1 >= c.tx.signal_every;
    const iovec piece = {message_of(m), bytes};
    fi_msg message{};
    message.msg_iov = &piece;
    message.desc = &c.descriptor;
    message.iov_count = 1;
    message.addr = c.peer;
    message.context = context_of(m);
    const ssize_t error = fi_sendmsg(c.endpoint.get(), &message, signalled ? FI_COMPLETION : 0);
    if (likely(error == 0)) c.tx.unsignalled = signalled ? 0 : c.tx.unsignalled + 1;
    return error;
}

uint16_t send(fabric_channel &c, rte_mbuf **packets, uint16_t count) {
    if (c.tx.posted.count > 0 || c.tx.refused) fabric_reap(c);
    c.tx.refused = false;
    uint16_t sent = 0;
    for (; sent < count; sent++) {
        rte_mbuf *const m = packets[sent];
        const uint32_t bytes = m->pkt_len - message_offset;
        const bool copied = bytes <= c.tx.inline_bytes;
        const ssize_t error =
            copied ? fi_inject(c.endpoint.get(), message_of(m), bytes, c.peer) : post_send(c, m, bytes);
        if (unlikely(error == -FI_EAGAIN)) {
            c.tx.full++;
            c.tx.refused = true;
            break;
        }
        if (unlikely(error != 0)) c.tx.errors.add(static_cast<int>(-error));
        if (copied || error != 0)
            rte_pktmbuf_free(m);
        else
            posted_add(c.tx.posted, m);
    }
    c.tx.sent += sent;
    return sent;
}

}  // namespace

void fabric_post_receives(fabric_channel &c) {
    uint32_t most = post_burst;
    while (c.rx.takes_more && !posted_is_full(c.rx.posted)) {
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

void fabric_reap(fabric_channel &c) {
    fi_cq_msg_entry done[burst];
    const ssize_t count = fi_cq_read(c.sends.get(), done, burst);
    if (unlikely(count < 0)) {
        if (count != -FI_EAGAIN) take_error(c.sends.get(), c.tx.posted, c.tx.errors, false);
        return;
    }
    for (ssize_t i = 0; i < count; i++) {
        rte_mbuf *const m = mbuf_of(done[i].op_context);
        if (c.tx.signal_every > 1) {
            posted_free(c.tx.posted, m);
        } else {
            posted_remove(c.tx.posted, m);
            rte_pktmbuf_free(m);
        }
    }
}

void fabric_free(fabric_channel &c) {
    posted_free(c.rx.posted, nullptr);
    posted_free(c.tx.posted, nullptr);
}

// A provider's memory grows with what it has ever had to do at once.
const queue_ops fabric_queue = {
    .rx =
        [](void *queue, rte_mbuf **packets, uint16_t most) {
            auto &c = *static_cast<fabric_channel *>(queue);
            const uint64_t before = thread_allocations();
            const uint16_t count = receive(c, packets, most);
            c.rx.allocations += disown_allocations(before);
            return count;
        },
    .tx =
        [](void *queue, rte_mbuf **packets, uint16_t count) {
            auto &c = *static_cast<fabric_channel *>(queue);
            const uint64_t before = thread_allocations();
            const uint16_t sent = send(c, packets, count);
            c.tx.allocations += disown_allocations(before);
            return sent;
        },
};

}  // namespace wt
