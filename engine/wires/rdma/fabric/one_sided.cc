#include "wires/rdma/fabric/one_sided.h"

#include <bit>

#include "core/allocation_watch.h"
#include "core/packet.h"
#include "wires/rdma/fabric/completion.h"

namespace wt {

namespace {

constexpr uint32_t burst = 64;
constexpr uint32_t polls_a_message = 16;  // messages are rare: only every so manieth poll looks for one

bool is_request(const uint8_t *message) { return message[0] == static_cast<uint8_t>(message_kind::request); }

// A place for the next operation. One whose post failed is kept.
bool take_place(one_sided_channel &c) {
    if (!c.has_next_place) c.has_next_place = c.free->take(&c.next_place, 1) == 1;
    return c.has_next_place;
}

ssize_t post(one_sided_channel &c, rte_mbuf *m) {
    if (unlikely(!take_place(c))) return -FI_EAGAIN;
    const uint32_t place = c.next_place;
    const uint64_t position = position_of(c.region, message_slot_and_generation(message_of(m)));
    fid_ep *const endpoint = c.messages.endpoint.get();
    m->hash.usr = place;
    c.holding[place] = m;  // before the post: nic_rx may see the completion at once
    const ssize_t error =
        c.writes ? fi_write(endpoint, c.local + position, c.region.piece, c.descriptor, c.messages.peer,
                            c.remote + position, region_key, context_of(m))
                 : fi_read(endpoint, c.local + place * c.region.piece, c.region.piece, c.descriptor,
                           c.messages.peer, c.remote + position, region_key, context_of(m));
    if (likely(error == 0))
        c.has_next_place = false;
    else
        c.holding[place] = nullptr;
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

void give_place_back(one_sided_channel &c, uint32_t place) {
    c.holding[place] = nullptr;
    c.free->put(&place, 1);
}

// The request becomes its own response. False: another piece was read than the one that stands there.
bool respond(one_sided_channel &c, rte_mbuf *m) {
    uint8_t *const message = message_of(m);
    const uint32_t place = m->hash.usr;
    const uint64_t position = position_of(c.region, message_slot_and_generation(message));
    const bool right =
        c.writes || piece_is_right(c.region, position, c.local + uint64_t{place} * c.region.piece);
    give_place_back(c, place);
    message[0] = static_cast<uint8_t>(message_kind::response);
    set_length(m, body_offset);
    return right;
}

void take_failed(one_sided_channel &c) {
    const auto [m, error] = read_failed(c.messages.sends.get());
    if (error != 0) c.messages.tx.errors.add(error);
    if (m == nullptr) return;
    give_place_back(c, m->hash.usr);
    rte_pktmbuf_free(m);
}

uint16_t receive(one_sided_channel &c, rte_mbuf **packets, uint16_t most) {
    fi_cq_msg_entry done[burst];
    const ssize_t ended = fi_cq_read(c.messages.sends.get(), done, std::min<size_t>(most, burst));
    if (unlikely(ended < 0 && ended != -FI_EAGAIN)) take_failed(c);
    uint16_t count = 0;
    for (ssize_t i = 0; i < ended; i++) {
        rte_mbuf *const m = mbuf_of(done[i].op_context);
        c.done++;
        if (likely(respond(c, m))) {
            packets[count++] = m;
            continue;
        }
        c.wrong++;
        rte_pktmbuf_free(m);
    }
    if (count < most && unlikely(++c.polls % polls_a_message == 0))
        count = static_cast<uint16_t>(
            count + fabric_queue.rx(&c.messages, packets + count, static_cast<uint16_t>(most - count)));
    return count;
}

}  // namespace

void one_sided_open(one_sided_channel &c, uint32_t places) {
    c.holding.assign(places, nullptr);
    c.free = std::make_unique<spsc_ring<uint32_t>>("places", std::bit_ceil(places + 1));
    for (uint32_t place = 0; place < places; place++) c.free->put(&place, 1);
}

void one_sided_free(one_sided_channel &c) {
    for (rte_mbuf *&m : c.holding) {
        rte_pktmbuf_free(m);
        m = nullptr;
    }
}

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
