#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <string_view>

#include "core/node_memory.h"
#include "core/refusal.h"
#include "run/run.h"
#include "wires/registry.h"

namespace wt {

namespace {

// DPDK leaves gaps at the ends of pages, for devices that know only physical addresses, unless told that
// there is none. Two reasons to leave none out: XDP sockets take the pool's memory as one piece, and with
// pages of 4 KiB each mbuf would begin at the same offset in its page, so that the first lines of a burst
// share one set of the L1 cache.
rte_mempool *pool_without_gaps(const std::string &name, const pool_plan &p, int node, bool one_piece) {
    const unsigned mbuf = static_cast<unsigned>(sizeof(rte_mbuf)) + p.data_room_bytes;
    rte_mempool *pool =
        rte_mempool_create_empty(name.c_str(), p.size, mbuf, p.cache, sizeof(rte_pktmbuf_pool_private), node,
                                 RTE_MEMPOOL_F_NO_IOVA_CONTIG);
    if (pool == nullptr) return nullptr;
    rte_pktmbuf_pool_private shape{};
    shape.mbuf_data_room_size = static_cast<uint16_t>(p.data_room_bytes);
    int error = rte_mempool_set_ops_byname(pool, name_of(p.ops), nullptr);
    if (error == 0) {
        rte_pktmbuf_pool_init(pool, &shape);
        error = std::min(0, rte_mempool_populate_default(pool));
    }
    if (error == 0 && (pool->nb_mem_chunks == 1 || !one_piece)) {
        rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
        return pool;
    }
    rte_mempool_free(pool);
    rte_errno = error == 0 ? ENOMEM : -error;
    return nullptr;
}

// Without hugepages no port is a device: a NIC needs them. A bucket pool takes pages whole, and has gaps.
rte_mempool *pool_on(int node, const endpoint_plan &e, const std::string &name) {
    const bool one_piece = has(wire_of(e), WT_WIRE_DENSE_POOL);
    const bool gaps_help_nobody =
        !rte_eal_has_hugepages() && std::string_view("bucket") != name_of(e.pool.ops);
    if (one_piece || gaps_help_nobody) return pool_without_gaps(name, e.pool, node, one_piece);
    return rte_pktmbuf_pool_create_by_ops(name.c_str(), e.pool.size, e.pool.cache, 0,
                                          static_cast<uint16_t>(e.pool.data_room_bytes), node,
                                          name_of(e.pool.ops));
}

// Without hugepages EAL's memory is one piece, on whatever node, and its allocator looks at no node.
void move_to_node(rte_mempool *pool, int node) {
    rte_mempool_mem_iter(
        pool,
        [](rte_mempool *, void *to, rte_mempool_memhdr *chunk, unsigned) {
            place_on_node(chunk->addr, chunk->len, *static_cast<int *>(to));
        },
        &node);
}

// On the endpoint's node; where EAL has no memory there, elsewhere, with a note. Null: nowhere.
rte_mempool *pool_of(run_state &f, size_t endpoint, const std::string &name) {
    const endpoint_plan &e = f.plan.endpoints[endpoint];
    const int node = home_node(f.plan, endpoint, f.nodes);
    rte_mempool *pool = pool_on(node, e, name);
    if (node < 0 || f.nodes.count < 2) return pool;
    if (pool != nullptr && !rte_eal_has_hugepages()) move_to_node(pool, node);
    if (pool != nullptr) return pool;
    pool = pool_on(SOCKET_ID_ANY, e, name);
    if (pool != nullptr)
        f.notes.push_back("the mbufs of the " + std::string(side_names[static_cast<int>(e.side)]) +
                          " are not on NUMA node " + std::to_string(node) +
                          ", which has no memory for them: its hugepages stand in "
                          "/sys/devices/system/node/node" +
                          std::to_string(node) + "/hugepages");
    return pool;
}

// A pool's operations come from a driver, a file of its own beside DPDK's other ones.
void check_driver(const std::string &name, const std::string &ops) {
    const auto *table = &rte_mempool_ops_table;
    const auto of_that_name = [&](const rte_mempool_ops &each) { return ops == each.name; };
    if (std::any_of(table->ops, table->ops + table->num_ops, of_that_name)) return;
    const std::string driver = ops.rfind("ring", 0) == 0 ? "ring" : ops == "bucket" ? "bucket" : "stack";
    throw refusal(name + ": no mempool driver that is loaded has " + ops,
                  "install librte_mempool_" + driver + " (Debian: librte-mempool-" + driver + "*)");
}

}  // namespace

void open_pools(run_state &f) {
    for (size_t i = 0; i < f.plan.endpoints.size(); i++) {
        const endpoint_plan &e = f.plan.endpoints[i];
        const std::string name = std::string("wt_") + side_names[static_cast<int>(e.side)];
        check_driver(name, name_of(e.pool.ops));
        rte_mempool *pool = pool_of(f, i, name);
        if (pool == nullptr)
            throw refusal(name + ": no pool of " + std::to_string(e.pool.size) + " mbufs with " +
                              name_of(e.pool.ops) + ": " + rte_strerror(rte_errno),
                          rte_errno == ENOMEM ? "use a smaller mempool.size, or give EAL more memory"
                                              : "use another mempool.ops");
        f.pools.push_back(pool);
    }
}

run_state::~run_state() {
    for (endpoint &e : endpoints)
        for (auto &a : e.applications) a->bodies.reset();  // a part may have mbufs written to
    handlers.clear();
    close_ports(ports);
    for (rte_mempool *pool : pools) rte_mempool_free(pool);
}

}  // namespace wt
