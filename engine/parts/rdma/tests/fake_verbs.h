// A device of libibverbs that a test drives by hand: it keeps what is posted and completes what it is told
// to.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <deque>
#include <vector>

namespace wt::test {

struct fake_verbs {
    struct send {
        ibv_send_wr request;
        ibv_sge piece;
    };
    struct receive {
        uint64_t id;
        ibv_sge piece;
    };

    ibv_context context{};
    ibv_qp pair{};
    ibv_cq receives{}, sends{};
    std::vector<send> sent;
    std::deque<receive> posted;
    std::deque<ibv_wc> received, ended;            // completions
    std::vector<uint32_t> chains, receive_chains;  // requests of each post that was made
    size_t takes = SIZE_MAX;                       // requests that it takes still
    int error = ENOMEM;                            // of the others

    fake_verbs() {
        context.ops.post_send = [](ibv_qp *qp, ibv_send_wr *first, ibv_send_wr **bad) {
            fake_verbs &f = *static_cast<fake_verbs *>(qp->qp_context);
            return f.take(first, bad, f.chains,
                          [&](const ibv_send_wr &r) { f.sent.push_back({r, *r.sg_list}); });
        };
        context.ops.post_recv = [](ibv_qp *qp, ibv_recv_wr *first, ibv_recv_wr **bad) {
            fake_verbs &f = *static_cast<fake_verbs *>(qp->qp_context);
            return f.take(first, bad, f.receive_chains,
                          [&](const ibv_recv_wr &r) { f.posted.push_back({r.wr_id, *r.sg_list}); });
        };
        context.ops.poll_cq = [](ibv_cq *cq, int most, ibv_wc *to) {
            fake_verbs &f = *static_cast<fake_verbs *>(cq->cq_context);
            std::deque<ibv_wc> &from = cq == &f.sends ? f.ended : f.received;
            int count = 0;
            for (; count < most && !from.empty(); from.pop_front()) to[count++] = from.front();
            return count;
        };
        pair.context = receives.context = sends.context = &context;
        pair.qp_context = receives.cq_context = sends.cq_context = this;
    }
    fake_verbs(const fake_verbs &) = delete;
    fake_verbs &operator=(const fake_verbs &) = delete;

    void end_send(uint64_t id, ibv_wc_status status = IBV_WC_SUCCESS) {
        ibv_wc done{};
        done.wr_id = id;
        done.status = status;
        ended.push_back(done);
    }
    // The receive that was posted first gets so many bytes.
    void arrive(uint32_t bytes, ibv_wc_status status = IBV_WC_SUCCESS) {
        ibv_wc done{};
        done.wr_id = posted.front().id;
        done.byte_len = bytes;
        done.status = status;
        posted.pop_front();
        received.push_back(done);
    }

  private:
    template <typename Request, typename Keep>
    int take(Request *first, Request **bad, std::vector<uint32_t> &lengths, Keep keep) {
        lengths.push_back(0);
        for (; first != nullptr; first = first->next, lengths.back()++, takes--) {
            if (takes == 0) {
                *bad = first;
                return error;
            }
            keep(*first);
        }
        return 0;
    }
};

}  // namespace wt::test
