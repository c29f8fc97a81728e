#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include "core/refusal.h"
#include "flight/flight.h"

namespace wt {

void open_pools(flight &f) {
    for (const endpoint_plan &e : f.plan.endpoints) {
        const std::string name = std::string("wt_") + side_names[static_cast<int>(e.side)];
        rte_mempool *pool = rte_pktmbuf_pool_create_by_ops(name.c_str(), e.pool.size, e.pool.cache, 0,
                                                           static_cast<uint16_t>(e.pool.data_room_bytes),
                                                           static_cast<int>(rte_socket_id()), e.pool.ops.c_str());
        if (pool == nullptr)
            throw refusal(name + ": no pool of " + std::to_string(e.pool.size) + " mbufs with " + e.pool.ops + ": " +
                              rte_strerror(rte_errno),
                          rte_errno == ENOMEM ? "a smaller mempool.size, or more memory for EAL" : "another mempool.ops");
        f.pools.push_back(pool);
    }
}

flight::~flight() {
    handlers.clear();
    close_ports(ports);
    for (rte_mempool *pool : pools) rte_mempool_free(pool);
}

}  // namespace wt
