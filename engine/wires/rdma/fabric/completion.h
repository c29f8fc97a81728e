// Between a completion and its mbuf.
#pragma once

#include <rte_mbuf.h>

#include "wires/rdma/fabric/handles.h"
#include "wires/rdma/rdma.h"

namespace wt {

// What a provider may want as memory of its own for each operation (FI_CONTEXT2) is the head of the headroom.
// It names the mbuf, too.
static_assert(RTE_PKTMBUF_HEADROOM >= sizeof(fi_context2));
inline void *context_of(rte_mbuf *m) { return m->buf_addr; }
inline rte_mbuf *mbuf_of(void *context) { return static_cast<rte_mbuf *>(context) - 1; }

// The mbuf of a completion with an error, which is counted; null: there is none.
inline rte_mbuf *read_failed(fid_cq *queue, rdma_errors &errors) {
    fi_cq_err_entry failed{};
    if (fi_cq_readerr(queue, &failed, 0) <= 0) return nullptr;
    errors.add(failed.err);
    return failed.op_context == nullptr ? nullptr : mbuf_of(failed.op_context);
}

}  // namespace wt
