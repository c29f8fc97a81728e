// Between a completion and its mbuf.
#pragma once

#include <rte_mbuf.h>

#include "parts/rdma/fabric/handles.h"

namespace wt {

// What a provider may want as memory of its own for each operation (FI_CONTEXT2) is the head of the headroom.
// It names the mbuf, too.
static_assert(RTE_PKTMBUF_HEADROOM >= sizeof(fi_context2));
inline void *context_of(rte_mbuf *m) { return m->buf_addr; }
inline rte_mbuf *mbuf_of(void *context) { return static_cast<rte_mbuf *>(context) - 1; }

// A completion with an error. `mbuf` null: there is none.
struct failed_operation {
    rte_mbuf *mbuf;
    int error;
};

inline failed_operation read_failed(fid_cq *queue) {
    fi_cq_err_entry failed{};
    if (fi_cq_readerr(queue, &failed, 0) <= 0 || failed.op_context == nullptr) return {nullptr, failed.err};
    return {mbuf_of(failed.op_context), failed.err};
}

}  // namespace wt
