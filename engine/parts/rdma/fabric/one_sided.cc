#include "parts/rdma/fabric/one_sided.h"

#include "core/allocation_watch.h"
#include "parts/rdma/fabric/completion.h"

namespace wt {

namespace {

constexpr uint32_t burst = 64;
constexpr uint32_t polls_a_message = 16;  // messages are rare: only every so manieth poll looks for one

ssize_t post(one_sided_channel &c, rte_mbuf *m) {
    if (unlikely(places_take(c.places, &m, 1) == 0)) return -FI_EAGAIN;
    const uint64_t position = region_position(c.places, m), bytes = c.places.region.piece;
    uint8_t *const local = local_piece(c.places, position, m->hash.usr);
    fid_ep *const endpoint = c.messages.endpoint.get();
    const ssize_t error = c.places.writes ? fi_write(endpoint, local, bytes, c.descriptor, c.messages.peer,
                                                     c.remote + position, region_key, context_of(m))
                                          : fi_read(endpoint, local, bytes, c.descriptor, c.messages.peer,
                                                    c.remote + position, region_key, context_of(m));
    if (unlikely(error != 0)) places_return(c.places, &m, 1);
    return error;
}

uint16_t send(one_sided_channel &c, rte_mbuf **packets, uint16_t count) {
    uint16_t sent = 0;
    for (; sent < count; sent++) {
        rte_mbuf *const m = packets[sent];
        const uint8_t *message = message_of(m);
        const bool operation = likely(is_request(message));
        const ssize_t error = operation ? post(c, m)
                                        : fi_inject(c.messages.endpoint.get(), message,
                                                    m->pkt_len - message_offset, c.messages.peer);
        if (unlikely(error == -FI_EAGAIN)) {
            c.messages.tx.full++;
            break;
        }
        if (unlikely(error != 0)) c.messages.tx.errors.add(static_cast<int>(-error));
        if (!operation || error != 0) rte_pktmbuf_free(m);
    }
    c.messages.tx.sent += sent;
    return sent;
}

// The request of an operation that has ended becomes its response; null: another piece was read than the one
// that stands there.
rte_mbuf *end(one_sided_channel &c, rte_mbuf *m) {
    const uint32_t place = m->hash.usr;
    places_end(c.places, place);
    const bool right = places_respond(c.places, m);
    places_give_back(c.places, place);
    if (likely(right)) return m;
    rte_pktmbuf_free(m);
    return nullptr;
}

void take_failed(one_sided_channel &c) {
    const auto [m, error] = read_failed(c.messages.sends.get());
    if (error != 0) c.messages.tx.errors.add(error);
    if (m == nullptr) return;
    places_end(c.places, m->hash.usr);
    places_give_back(c.places, m->hash.usr);
    rte_pktmbuf_free(m);
}

uint16_t receive(one_sided_channel &c, rte_mbuf **packets, uint16_t most) {
    fi_cq_msg_entry done[burst];
    const ssize_t ended = fi_cq_read(c.messages.sends.get(), done, std::min<size_t>(most, burst));
    if (unlikely(ended < 0 && ended != -FI_EAGAIN)) take_failed(c);
    uint16_t count = 0;
    for (ssize_t i = 0; i < ended; i++) {
        packets[count] = end(c, mbuf_of(done[i].op_context));
        count = static_cast<uint16_t>(count + (packets[count] != nullptr));
    }
    if (count < most && unlikely(++c.polls % polls_a_message == 0))
        count = static_cast<uint16_t>(
            count + fabric_queue.rx(&c.messages, packets + count, static_cast<uint16_t>(most - count)));
    return count;
}

}  // namespace

const queue_ops one_sided_queue = {
    .rx =
        [](void *queue, rte_mbuf **packets, uint16_t most) {
            auto &c = *static_cast<one_sided_channel *>(queue);
            const uint64_t before = thread_allocations();
            const uint16_t count = receive(c, packets, most);
            c.messages.rx.allocations += disown_allocations(before);
            return count;
        },
    .tx =
        [](void *queue, rte_mbuf **packets, uint16_t count) {
            auto &c = *static_cast<one_sided_channel *>(queue);
            const uint64_t before = thread_allocations();
            const uint16_t sent = send(c, packets, count);
            c.messages.tx.allocations += disown_allocations(before);
            return sent;
        },
};

}  // namespace wt
