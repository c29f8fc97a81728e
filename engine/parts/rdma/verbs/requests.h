// Work requests of one post: a chain that is linked once, so that a post writes only what differs.
//
// A device has copied them when the post returns: the next one uses them again.
#pragma once

#include <infiniband/verbs.h>
#include <rte_branch_prediction.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace wt {

template <typename Request>
struct request_chain {
    std::vector<Request> requests;
    std::vector<ibv_sge> pieces;  // one for each request

    // At most `most` requests on memory with the key `key`.
    void resize(uint32_t most, uint32_t key) {
        requests.assign(most, {});
        pieces.assign(most, {});
        for (uint32_t i = 0; i < most; i++) {
            pieces[i].lkey = key;
            requests[i].next = i + 1 < most ? &requests[i + 1] : nullptr;
            requests[i].sg_list = &pieces[i];
            requests[i].num_sge = 1;
        }
    }
};

using send_chain = request_chain<ibv_send_wr>;
using receive_chain = request_chain<ibv_recv_wr>;

// How many requests a device has taken, and why it took no more: 0, or an errno.
struct post_result {
    uint32_t count;
    int error;
};

inline int post_first(ibv_qp *pair, ibv_send_wr *first, ibv_send_wr **bad) {
    return ibv_post_send(pair, first, bad);
}
inline int post_first(ibv_qp *pair, ibv_recv_wr *first, ibv_recv_wr **bad) {
    return ibv_post_recv(pair, first, bad);
}

// Posts the first `count` requests, at least one, by one call: one doorbell.
template <typename Request>
post_result post_chain(ibv_qp *pair, request_chain<Request> &c, uint32_t count) {
    Request &last = c.requests[count - 1];
    Request *const next = std::exchange(last.next, nullptr), *bad = nullptr;
    const int error = post_first(pair, c.requests.data(), &bad);
    last.next = next;
    if (likely(error == 0)) return {count, 0};
    // some drivers say -errno, where the manual has errno
    return {bad == nullptr ? 0 : static_cast<uint32_t>(bad - c.requests.data()), error < 0 ? -error : error};
}

}  // namespace wt
