// Where memory belongs on machines of several NUMA nodes, which are made up here. Starts EAL on ordinary
// memory.
#include <gtest/gtest.h>
#include <rte_malloc.h>
#include <rte_memory.h>
#include <rte_memzone.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "host/cpu_node.h"
#include "run/memory_nodes.h"
#include "stages_rig.h"
#include "test_tools.h"
#include "wires/interface.h"

namespace wt::test::nodes_test {
namespace {

const needs_eal eal(64);

namespace fs = std::filesystem;

// CPUs 0 to 3 on node 0, the others on node 1.
int node_of(int cpu) { return cpu / 4; }
int no_device(const endpoint_plan &) { return -1; }
int servers_device(const endpoint_plan &e) { return e.side == side::server ? 1 : -1; }

// A plan whose workers have these CPUs; the stages of both sides are dealt out to them in turn.
plan plan_on(const std::vector<int> &cpus) {
    json p = rig_plan(), workers = json::array();
    const json stages = p["workers"][0]["stages"];
    for (size_t w = 0; w < cpus.size(); w++)
        workers.push_back({{"lcore", w + 1}, {"cpu", cpus[w]}, {"stages", json::array()}});
    for (size_t i = 0; i < stages.size(); i++) workers[i % cpus.size()]["stages"].push_back(stages[i]);
    p["workers"] = workers;
    return read_plan(p.dump());
}

TEST(nodes, an_endpoint_is_where_its_device_is_else_where_most_of_its_stages_run) {
    const node_topology without{2, node_of, no_device}, with{2, node_of, servers_device};
    EXPECT_EQ(home_node(plan_on({0}), server, without), 0);
    EXPECT_EQ(home_node(plan_on({0}), server, with), 1);
    EXPECT_EQ(home_node(plan_on({0}), client, with), 0);
    EXPECT_EQ(home_node(plan_on({0, 5, 6}), client, without), 1);
    EXPECT_EQ(home_node(plan_on({5, 0}), client, without), 1) << "as many: the first worker's";
}

TEST(nodes, what_is_not_known_is_left_to_eal) {
    const node_topology unknown{2, [](int) { return -1; }, no_device};
    EXPECT_EQ(home_node(plan_on({0, 1}), client, unknown), SOCKET_ID_ANY);
    EXPECT_EQ(ring_node(plan_on({0, 1}), {client, stage_kind::app_rx, 0}, unknown), SOCKET_ID_ANY);
}

TEST(nodes, a_ring_is_where_its_device_is_else_where_it_is_emptied) {
    const plan p =
        plan_on({0, 5});  // nic_rx, app_rx, disp_tx on the first, disp_rx, app_tx, nic_tx on the second
    const node_topology without{2, node_of, no_device}, with{2, node_of, servers_device},
        one{1, node_of, no_device};
    EXPECT_EQ(ring_node(p, {client, stage_kind::app_rx, 0}, without), 0);
    EXPECT_EQ(ring_node(p, {client, stage_kind::disp_rx, 0}, without), 1);
    EXPECT_EQ(ring_node(p, {server, stage_kind::nic_rx, 0}, with), 1);
    EXPECT_EQ(ring_node(p, {client, stage_kind::disp_rx, 0}, one), SOCKET_ID_ANY) << "there is no other node";
    EXPECT_EQ(ring_node(p, {server, stage_kind::app_tx, 0}, without), SOCKET_ID_ANY)
        << "no worker takes there";
}

// A node of EAL's beside those of the machine: memory of the test's own.
int second_node() {
    static const int node = [] {
        constexpr size_t bytes = 16 << 20, page = 4096;
        void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_EQ(rte_malloc_heap_create("second node"), 0);
        EXPECT_EQ(rte_malloc_heap_memory_add("second node", memory, bytes, nullptr, bytes / page, page), 0);
        return rte_malloc_heap_get_socket("second node");
    }();
    return node;
}

struct opened_run {
    int fd = memfd_create("lines", 0);
    plan p = plan_on({0, 5});
    tsc_clock clock = clock_start(1e9);
    line_writer lines{fd};
    run_state f{p, lines, clock};
    ~opened_run() { close(fd); }
};

// Everything that is opened is asked for on the node that was found.
TEST(nodes, pools_descriptors_and_rings_are_asked_for_there) {
    opened_run r;
    run_state &f = r.f;
    f.nodes = {2, [](int) { return 0; },
               [](const endpoint_plan &e) { return e.side == side::server ? second_node() : -1; }};
    open_pools(f);
    EXPECT_TRUE(f.notes.empty());
    EXPECT_EQ(f.pools[client]->socket_id, 0);
    EXPECT_EQ(f.pools[server]->socket_id, second_node());
    f.ports = open_ports(r.p, f.pools);
    EXPECT_EQ(rte_eth_dev_socket_id(f.ports[server].id), second_node());
    open_endpoints(f);
    const auto link_of = [&](size_t e) -> const link & { return *f.endpoints[e].dispatchers[0]->links[0]; };
    EXPECT_EQ(link_of(server).to_application->node, second_node());
    EXPECT_EQ(link_of(server).to_dispatcher->node, second_node());
    EXPECT_EQ(link_of(client).to_application->node, 0);
    EXPECT_EQ(f.endpoints[server].dispatchers[0]->nic.received->ring->node, second_node());
}

TEST(nodes, without_memory_there_mbufs_are_elsewhere_and_a_note_says_so) {
    opened_run r;
    r.f.nodes = {2, node_of, [](const endpoint_plan &) { return 7; }};
    open_pools(r.f);
    for (const rte_mempool *pool : r.f.pools) EXPECT_EQ(pool->socket_id, SOCKET_ID_ANY);
    ASSERT_EQ(r.f.notes.size(), 2u);
    EXPECT_TRUE(r.f.notes[0].starts_with("the mbufs of the client are not on NUMA node 7"));
}

TEST(nodes, a_driver_of_pools_that_is_not_loaded_is_named_with_its_file) {
    opened_run r;
    const uint32_t loaded = std::exchange(rte_mempool_ops_table.num_ops, 0);
    const std::string said = test::refusal_of([&] { open_pools(r.f); });
    rte_mempool_ops_table.num_ops = loaded;
    EXPECT_EQ(said, "wt_client: no mempool driver that is loaded has ring_mp_mc");
}

// The kernel's own word for where the pages of a ring are.
TEST(nodes, a_ring_is_on_the_node_that_it_asked_for) {
    const spsc_ring<uint64_t> ring("here", 4096, 0);
    const std::set<int> nodes = nodes_of_memory(ring.ring.get(), ring.bytes());
    if (nodes.empty()) GTEST_SKIP() << "the kernel does not say where pages are: " << std::strerror(errno);
    EXPECT_TRUE(ring.is_there);
    EXPECT_EQ(nodes, std::set<int>{0});
    const spsc_ring<uint64_t> nowhere("nowhere", 4096, 63);
    EXPECT_FALSE(nowhere.is_there);
}

TEST(nodes, memory_that_nobody_has_written_to_is_on_none) {
    constexpr size_t bytes = 3 << 20;
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_TRUE(nodes_of_memory(memory, bytes).empty());
    static_cast<char *>(memory)[bytes - 1] = 1;
    const std::set<int> nodes = nodes_of_memory(memory, bytes);
    munmap(memory, bytes);
    if (nodes.empty()) GTEST_SKIP() << "the kernel does not say where pages are: " << std::strerror(errno);
    EXPECT_EQ(nodes, std::set<int>{0}) << "the last page";
}

TEST(nodes, a_note_says_where_the_kernel_has_put_each_endpoint_s_memory) {
    opened_run r;
    run_state &f = r.f;
    f.nodes = {2, [](int) { return 0; }, no_device};
    open_pools(f);
    if (nodes_of_memory(f.pools[0], 1).empty())
        GTEST_SKIP() << "the kernel does not say where pages are: " << std::strerror(errno);
    f.ports = open_ports(r.p, f.pools);
    open_endpoints(f);
    const rte_memzone *zone = rte_memzone_reserve(
        ("eth_p" + std::to_string(f.ports[server].id) + "_q0_rx_ring").c_str(), 4096, SOCKET_ID_ANY, 0);
    ASSERT_NE(zone, nullptr);
    static_cast<char *>(zone->addr)[0] = 1;
    note_memory_nodes(f);
    rte_memzone_free(zone);
    EXPECT_EQ(f.notes, (std::vector<std::string>{
                           "memory of the client by NUMA nodes: mbufs on 0, rings on 0",
                           "memory of the server by NUMA nodes: mbufs on 0, descriptors on 0, rings on 0"}));
    f.notes.clear();
    f.nodes.count = 1;
    note_memory_nodes(f);
    EXPECT_TRUE(f.notes.empty()) << "there is no other node";
}

TEST(nodes, are_read_from_the_kernel_s_tree) {
    const temporary_directory directory;
    const fs::path root = directory;
    fs::create_directories(root / "devices/system/cpu/cpu7/node3");
    fs::create_directories(root / "devices/system/cpu/cpu8/cache");
    fs::create_directories(root / "class/net/far/device");
    std::ofstream(root / "class/net/far/device/numa_node") << "1\n";
    EXPECT_EQ(node_of_cpu(7, root), 3);
    EXPECT_EQ(node_of_cpu(8, root), -1) << "a kernel without NUMA";
    EXPECT_EQ(node_of_cpu(9, root), -1);
    EXPECT_EQ(node_of_interface("far", root), 1);
    fs::create_directories(root / "devices/0000:00:02.0/virtio0");
    fs::create_directories(root / "class/net/virtual");
    fs::create_directory_symlink(root / "devices/0000:00:02.0/virtio0", root / "class/net/virtual/device");
    std::ofstream(root / "devices/0000:00:02.0/numa_node") << "2\n";
    EXPECT_EQ(node_of_interface("virtual", root), 2) << "the NIC's";
    EXPECT_EQ(node_of_interface("veth0", root), -1);
}

}  // namespace
}  // namespace wt::test::nodes_test
