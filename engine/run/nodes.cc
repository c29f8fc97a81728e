#include "run/nodes.h"

#include <rte_lcore.h>
#include <rte_memory.h>

#include <algorithm>
#include <vector>

#include "host/cpu_node.h"
#include "wires/registry.h"

namespace wt {

node_topology nodes_of_host() {
    return {.count = rte_socket_count(),
            .of_cpu = [](int cpu) { return node_of_cpu(cpu); },
            .of_device = node_of_device};
}

int worker_of(const plan &p, uint32_t endpoint, stage_kind stage, uint32_t index) {
    for (size_t w = 0; w < p.workers.size(); w++)
        for (const stage_of &s : p.workers[w].stages)
            if (s.endpoint == endpoint && s.stage == stage && s.index == index) return static_cast<int>(w);
    return -1;
}

int home_node(const plan &p, size_t endpoint, const node_topology &t) {
    if (const int of_device = t.of_device(p.endpoints[endpoint]); of_device >= 0) return of_device;
    struct of_node {
        int node;
        uint32_t stages;
    };
    std::vector<of_node> nodes;  // in the order of the workers
    for (const worker_plan &w : p.workers) {
        const auto here = static_cast<uint32_t>(
            std::ranges::count(w.stages, endpoint, [](const stage_of &s) { return size_t{s.endpoint}; }));
        const int node = t.of_cpu(w.cpu);
        const auto seen = std::ranges::find(nodes, node, &of_node::node);
        if (seen == nodes.end())
            nodes.push_back({node, here});
        else
            seen->stages += here;
    }
    const auto most = std::ranges::max_element(nodes, {}, &of_node::stages);
    return most == nodes.end() || most->stages == 0 || most->node < 0 ? SOCKET_ID_ANY : most->node;
}

int ring_node(const plan &p, const stage_of &taker, const node_topology &t) {
    if (t.count < 2) return SOCKET_ID_ANY;
    if (const int of_device = t.of_device(p.endpoints[taker.endpoint]); of_device >= 0) return of_device;
    const int worker = worker_of(p, taker.endpoint, taker.stage, taker.index);
    const int node = worker < 0 ? -1 : t.of_cpu(p.workers[static_cast<size_t>(worker)].cpu);
    return node < 0 ? SOCKET_ID_ANY : node;
}

}  // namespace wt
