#include "parts/rdma/verbs/one_sided.h"

#include <cerrno>

namespace wt {

namespace {

constexpr int burst = 64;
constexpr uint32_t polls_a_message = 16;  // messages are rare: only every so manieth poll looks for one

void describe_operation(verbs_one_sided &c, ibv_send_wr &request, ibv_sge &piece, rte_mbuf *m) {
    const uint64_t position = region_position(c.places, m);
    request.opcode = c.places.writes ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
    request.wr.rdma.remote_addr = c.remote + position;
    request.wr.rdma.rkey = c.remote_key;
    piece = {reinterpret_cast<uintptr_t>(local_piece(c.places, position, m->hash.usr)),
             static_cast<uint32_t>(c.places.region.piece), c.local_key};
}

void describe_message(const verbs_one_sided &c, ibv_send_wr &request, ibv_sge &piece, rte_mbuf *m) {
    request.opcode = IBV_WR_SEND;
    piece = {reinterpret_cast<uintptr_t>(message_of(m)), m->pkt_len - message_offset, c.message_key};
}

// Each operation is signalled: its completion is the response.
void describe(verbs_one_sided &c, rte_mbuf *const *packets, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        ibv_send_wr &request = c.messages.tx.chain.requests[i];
        ibv_sge &piece = c.messages.tx.chain.pieces[i];
        request.wr_id = packets[i]->hash.usr;
        request.send_flags = IBV_SEND_SIGNALED;
        if (likely(is_request(message_of(packets[i]))))
            describe_operation(c, request, piece, packets[i]);
        else
            describe_message(c, request, piece, packets[i]);
    }
}

uint16_t send(verbs_one_sided &c, rte_mbuf **packets, uint16_t count) {
    const uint32_t most = places_take(c.places, packets, count);
    auto &tx = c.messages.tx;
    tx.full += most < count;
    if (unlikely(most == 0)) return 0;
    describe(c, packets, most);
    const post_result done = post_chain(c.messages.pair, tx.chain, most);
    if (likely(done.error == 0)) return static_cast<uint16_t>(most);
    places_return(c.places, packets + done.count, most - done.count);
    verbs_refused(c.messages, tx.full, tx.refused, done.error);
    return static_cast<uint16_t>(done.count);
}

// The packet that a completion makes; null: none.
rte_mbuf *end(verbs_one_sided &c, const ibv_wc &done) {
    rte_mbuf *const m = places_end(c.places, done.wr_id);
    if (unlikely(m == nullptr)) return nullptr;
    const uint32_t place = m->hash.usr;
    if (unlikely(done.status != IBV_WC_SUCCESS)) verbs_failed(c.messages, done.status);
    const bool responds =
        likely(done.status == IBV_WC_SUCCESS) && is_request(message_of(m)) && places_respond(c.places, m);
    places_give_back(c.places, place);
    if (likely(responds)) return m;
    rte_pktmbuf_free(m);
    return nullptr;
}

uint16_t receive(verbs_one_sided &c, rte_mbuf **packets, uint16_t most) {
    ibv_wc done[burst];
    const uint32_t ended =
        verbs_poll(c.messages, c.messages.sends, std::min<int>(most, burst), done, c.messages.rx.refused);
    uint16_t count = 0;
    for (uint32_t i = 0; i < ended; i++) {
        packets[count] = end(c, done[i]);
        count = static_cast<uint16_t>(count + (packets[count] != nullptr));
    }
    if (count < most && unlikely(++c.polls % polls_a_message == 0))
        count = static_cast<uint16_t>(
            count + verbs_queue_ops.rx(&c.messages, packets + count, static_cast<uint16_t>(most - count)));
    return count;
}

}  // namespace

const queue_ops verbs_one_sided_ops = {
    .rx = [](void *queue, rte_mbuf **packets,
             uint16_t most) { return receive(*static_cast<verbs_one_sided *>(queue), packets, most); },
    .tx = [](void *queue, rte_mbuf **packets,
             uint16_t count) { return send(*static_cast<verbs_one_sided *>(queue), packets, count); },
};

}  // namespace wt
