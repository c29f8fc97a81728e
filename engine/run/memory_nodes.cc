#include "run/memory_nodes.h"

#include <rte_memzone.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

namespace wt {

namespace {

using node_set = std::set<int>;

void add(node_set &to, const void *begin, size_t bytes) { to.merge(nodes_of_memory(begin, bytes)); }

node_set nodes_of_mbufs(rte_mempool *pool) {
    node_set nodes;
    rte_mempool_mem_iter(
        pool,
        [](rte_mempool *, void *to, rte_mempool_memhdr *chunk, unsigned) {
            add(*static_cast<node_set *>(to), chunk->addr, chunk->len);
        },
        &nodes);
    return nodes;
}

struct zones {
    std::string prefix;
    node_set nodes;
};

node_set nodes_of_descriptors(const port &p) {
    zones of_port{"eth_p" + std::to_string(p.id) + "_q", {}};
    rte_memzone_walk(
        [](const rte_memzone *zone, void *to) {
            auto &z = *static_cast<zones *>(to);
            if (std::string_view(zone->name).starts_with(z.prefix)) add(z.nodes, zone->addr, zone->len);
        },
        &of_port);
    return of_port.nodes;
}

template <typename Ring>
void add_ring(node_set &to, const std::unique_ptr<Ring> &ring) {
    if (ring) add(to, ring->ring.get(), ring->bytes());
}

node_set nodes_of_rings(const endpoint &e) {
    node_set nodes;
    for (const auto &d : e.dispatchers) {
        for (const link *l : d->links) {
            add_ring(nodes, l->to_application);
            add_ring(nodes, l->to_dispatcher);
        }
        for (const auto *between : {&d->nic.received, &d->nic.sending, &d->nic.replies})
            if (*between) add_ring(nodes, (*between)->ring);
    }
    return nodes;
}

// "mbufs on 0 and 1"; nothing where there are none.
void say(std::string &note, const char *what, const node_set &nodes) {
    if (nodes.empty()) return;
    note += std::string(note.empty() ? "" : ", ") + what + " on ";
    for (auto n = nodes.begin(); n != nodes.end(); n++)
        note += (n == nodes.begin() ? "" : " and ") + std::to_string(*n);
}

}  // namespace

std::set<int> nodes_of_memory(const void *begin, size_t bytes) {
    constexpr size_t at_once = 512;
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const uintptr_t end = reinterpret_cast<uintptr_t>(begin) + bytes;
    std::array<void *, at_once> pages;
    std::array<int, at_once> where;
    node_set nodes;
    for (uintptr_t at = reinterpret_cast<uintptr_t>(begin) & -page; at < end;) {
        size_t count = 0;
        for (; count < at_once && at < end; at += page) pages[count++] = reinterpret_cast<void *>(at);
        if (syscall(SYS_move_pages, 0, count, pages.data(), nullptr, where.data(), 0) != 0) return {};
        std::copy_if(where.begin(), where.begin() + count, std::inserter(nodes, nodes.end()),
                     [](int node) { return node >= 0; });
    }
    return nodes;
}

void note_memory_nodes(run_state &f) {
    if (f.nodes.count < 2) return;
    for (const endpoint &e : f.endpoints) {
        std::string where;
        say(where, "mbufs", nodes_of_mbufs(e.pool));
        say(where, "descriptors", nodes_of_descriptors(*e.port));
        say(where, "rings", nodes_of_rings(e));
        if (!where.empty())
            f.notes.push_back("memory of the " + std::string(side_names[static_cast<int>(e.plan->side)]) +
                              " by NUMA nodes: " + where);
    }
}

}  // namespace wt
