// Objects of libibverbs and librdmacm with their ends: each is closed when its owner goes.
#pragma once

#include <rdma/rdma_cma.h>

#include <memory>

namespace wt {

struct close_verbs {
    void operator()(ibv_pd *o) const { ibv_dealloc_pd(o); }
    void operator()(ibv_mr *o) const { ibv_dereg_mr(o); }
    void operator()(ibv_cq *o) const { ibv_destroy_cq(o); }
    void operator()(ibv_qp *o) const { ibv_destroy_qp(o); }
    void operator()(ibv_ah *o) const { ibv_destroy_ah(o); }
    void operator()(rdma_event_channel *o) const { rdma_destroy_event_channel(o); }
    // Events of it that were not acknowledged would be waited for.
    void operator()(rdma_cm_id *id) const {
        if (id->qp != nullptr) rdma_destroy_qp(id);
        rdma_destroy_id(id);
    }
};

template <typename Object>
using verbs_handle = std::unique_ptr<Object, close_verbs>;

}  // namespace wt
