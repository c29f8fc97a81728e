// RDMA over libfabric's software providers: both ends in one process, on addresses of the loopback. No root,
// no device.
#include <gtest/gtest.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <tuple>

#include "core/packet.h"
#include "core/refusal.h"
#include "parts/rdma/fabric/provider.h"
#include "parts/rdma/fabric/trial.h"
#include "parts/rdma/posted.h"
#include "parts/rdma/rdma.h"
#include "parts/rdma/region.h"
#include "suite.h"
#include "test_tools.h"
#include "valid_plan.h"
#include "wires/port.h"
#include "wires_tools.h"

namespace wt::test::rdma_wire_test {
namespace {

const needs_eal eal(64);

using json = nlohmann::ordered_json;
enum : size_t { client = 0, server = 1 };
constexpr uint32_t pool_size = 2047;

struct Rdma : testing::Test {
    Rdma() {
        for (const char *name : {"wt_rdma_client", "wt_rdma_server"})
            pools.push_back(
                rte_pktmbuf_pool_create(name, pool_size, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY));
    }
    ~Rdma() override {
        close_ports(ports);
        for (rte_mempool *pool : pools) {
            EXPECT_EQ(rte_mempool_avail_count(pool), pool_size)
                << pool->name << " did not get all its mbufs back";
            rte_mempool_free(pool);
        }
    }

    // Each open has ports of its own: shm of libfabric 1.17 remembers a name for as long as the process
    // lives.
    static json plan_of(const wire_texts &options) {
        static uint16_t port = static_cast<uint16_t>(17400 + getpid() % 20000);  // of this process alone
        json p = valid_plan();
        port = static_cast<uint16_t>(port + 2);
        for (size_t i : {client, server}) {
            json &e = p["endpoints"][i];
            e["ip"] = i == client ? "127.0.0.2" : "127.0.0.1";
            e["peer_ip"] = i == client ? "127.0.0.1" : "127.0.0.2";
            e["udp_port"] = e["peer_udp_port"] = port;
            e["port"].update({{"rx_descriptors", 128}, {"tx_descriptors", 128}});
            for (const char *none : {"faults", "link", "rx_free_thresh", "tx_free_thresh", "tx_rs_thresh"})
                e["port"][none] = nullptr;
            put_on(e, "rdma", options);
        }
        return p;
    }
    void open(const json &p) {
        read = read_plan(p.dump());
        ports = open_ports(read, pools);
    }
    void open_with(const wire_texts &options) { open(plan_of(options)); }
    bool link_up() {
        int looks = 0;
        return wait_for_links(ports, [](void *n) { return ++*static_cast<int *>(n) < 500; }, &looks);
    }
    std::string refusal_of(const json &p) {
        try {
            open(p);
            return "";
        } catch (const refusal &r) {
            return std::string(r.what()) + "; " + r.remedy();
        }
    }

    // Why a client ends that waits for its link beside a server.
    std::string refusal_to(std::vector<port> &late) {
        struct both {
            port &server;
            int looks = 0;
        } waiting{ports.back()};
        const auto look = [](void *w) {
            both &b = *static_cast<both *>(w);
            b.server.operations->link(b.server);
            return ++b.looks < 200;
        };
        return test::refusal_of([&] { wait_for_links(late, look, &waiting); });
    }

    // Packets of `bytes` from their message header on, each with its number in them.
    std::vector<rte_mbuf *> make(size_t end, uint32_t count, uint32_t bytes, uint32_t first = 0) {
        std::vector<rte_mbuf *> made(count);
        EXPECT_EQ(rte_pktmbuf_alloc_bulk(pools[end], made.data(), count), 0);
        for (uint32_t i = 0; i < count; i++) {
            set_length(made[i], message_offset + bytes);
            std::memset(message_of(made[i]), static_cast<int>(first + i), bytes);
            const uint32_t number = first + i;
            std::memcpy(message_of(made[i]), &number, sizeof number);
        }
        return made;
    }
    uint16_t try_to_send(size_t from, uint16_t queue, std::vector<rte_mbuf *> packets) {
        const uint16_t sent = ports[from].queue->tx(ports[from].channels[queue], packets.data(),
                                                    static_cast<uint16_t>(packets.size()));
        rte_pktmbuf_free_bulk(packets.data() + sent, static_cast<unsigned>(packets.size() - sent));
        return sent;
    }
    // Until all are sent: a provider may want the other end to move first.
    uint32_t send(size_t from, uint16_t queue, const std::vector<rte_mbuf *> &packets) {
        uint32_t sent = 0;
        for (int polls = 0; polls < 10'000 && sent < packets.size(); polls++) {
            sent += ports[from].queue->tx(ports[from].channels[queue],
                                          const_cast<rte_mbuf **>(packets.data()) + sent,
                                          static_cast<uint16_t>(packets.size() - sent));
            if (sent < packets.size()) poll(1 - from, queue);
        }
        return sent;
    }
    void poll(size_t to, uint16_t queue) {
        rte_mbuf *burst[32];
        const uint16_t got = ports[to].queue->rx(ports[to].channels[queue], burst, 32);
        arrived[to][queue].insert(arrived[to][queue].end(), burst, burst + got);
    }
    // The numbers of the packets that have arrived on a queue, once `count` have.
    std::vector<uint32_t> receive(size_t to, uint16_t queue, size_t count, uint32_t bytes) {
        std::vector<rte_mbuf *> &packets = arrived[to][queue];
        for (int polls = 0; polls < 200'000 && packets.size() < count; polls++) poll(to, queue);
        std::vector<uint32_t> numbers;
        for (rte_mbuf *m : std::exchange(packets, {})) {
            uint32_t number;
            std::memcpy(&number, message_of(m), sizeof number);
            numbers.push_back(number);
            EXPECT_EQ(m->pkt_len, message_offset + bytes);
            EXPECT_EQ(message_of(m)[bytes - 1], static_cast<uint8_t>(number));
            EXPECT_EQ(m->pool, pools[to]);
            rte_pktmbuf_free(m);
        }
        return numbers;
    }

    std::vector<rte_mbuf *> arrived[2][2];
    std::vector<rte_mempool *> pools;
    plan read = read_plan(valid_plan().dump());
    std::vector<port> ports;
};

uint64_t counted(const named_counts &counts, const std::string &name) {
    for (const auto &[known, count] : counts)
        if (known == name) return count;
    return 0;
}

struct RdmaTypes : Rdma, testing::WithParamInterface<const char *> {};

TEST_P(RdmaTypes, CarryMessagesBothWaysOnEachQueue) {
    open_with({{"type", GetParam()}});
    ASSERT_TRUE(link_up());
    EXPECT_EQ(ports[client].driver.substr(0, 10), "libfabric ");
    EXPECT_EQ(ports[client].lost_as != nullptr, std::string(GetParam()) == "ud");
    uint32_t first = 0;
    for (const uint32_t bytes : {16u, 128u, 129u, 1472u})
        for (const size_t from : {client, server})
            for (const uint16_t queue : {uint16_t{0}, uint16_t{1}}) {
                ASSERT_EQ(send(from, queue, make(from, 32, bytes, first)), 32u);
                const std::vector<uint32_t> got = receive(1 - from, queue, 32, bytes);
                EXPECT_EQ(std::set(got.begin(), got.end()).size(), 32u) << bytes;
                EXPECT_EQ(got.size(), 32u);
                first += 32;
            }
    for (const port &p : ports) EXPECT_EQ(p.operations->missed(p) + p.operations->failed(p), 0u);
}

TEST_P(RdmaTypes, GoOnForLongerThanTheirQueuesAreDeep) {
    open_with({{"type", GetParam()}, {"inline", "0"}, {"signal_every", "256"}});  // deeper than the queue
    ASSERT_TRUE(link_up());
    for (uint32_t round = 0; round < 50; round++) {
        ASSERT_EQ(send(client, 0, make(client, 16, 200, round * 16)), 16u);
        ASSERT_EQ(receive(server, 0, 16, 200).size(), 16u) << round;
    }
}

TEST_P(RdmaTypes, DrainFindsWhatIsOnItsWay) {
    open_with({{"type", GetParam()}});
    ASSERT_TRUE(link_up());
    ASSERT_EQ(send(client, 0, make(client, 20, 64)), 20u);
    ASSERT_EQ(send(client, 1, make(client, 10, 1000)), 10u);
    ASSERT_EQ(send(server, 1, make(server, 5, 64)), 5u);
    uint32_t already = 0;  // while others were sent
    for (const uint16_t queue : {uint16_t{0}, uint16_t{1}})
        for (const size_t to : {client, server}) {
            already += to == server ? static_cast<uint32_t>(arrived[to][queue].size()) : 0;
            rte_pktmbuf_free_bulk(arrived[to][queue].data(),
                                  static_cast<unsigned>(arrived[to][queue].size()));
        }
    EXPECT_EQ(drain_wire(ports, client) + already, 30u);
    EXPECT_EQ(drain_wire(ports, client), 0u);
    EXPECT_EQ(drain_wire(ports, server), 5u);
}

TEST_P(RdmaTypes, ADryQueueIsCounted) {
    json p = plan_of({{"type", GetParam()}});
    p["endpoints"][server]["port"]["rx_descriptors"] = 8;
    open(p);
    ASSERT_TRUE(link_up());
    std::vector<rte_mbuf *> rest;  // nothing is left to post
    while (rte_mbuf *m = rte_pktmbuf_alloc(pools[server])) rest.push_back(m);
    EXPECT_EQ(send(client, 0, make(client, 8, 64)), 8u);
    EXPECT_EQ(receive(server, 0, 8, 64).size(), 8u);
    const named_counts counts = ports[server].operations->statistics(ports[server]);
    EXPECT_GE(counted(counts, "dry"), 1u);
    rte_pktmbuf_free_bulk(rest.data(), static_cast<unsigned>(rest.size()));
}

INSTANTIATE_TEST_SUITE_P(Each, RdmaTypes, testing::Values("rc", "ud", "rdm"));

// Requests as app_tx makes them, each with a name of its own.
std::vector<rte_mbuf *> requests(rte_mempool *pool, uint32_t count, uint32_t generation) {
    std::vector<rte_mbuf *> made(count);
    EXPECT_EQ(rte_pktmbuf_alloc_bulk(pool, made.data(), count), 0);
    for (uint32_t i = 0; i < count; i++) {
        set_length(made[i], body_offset + 6);
        message_header_write(message_of(made[i]), {message_kind::request, 0, 3, i, generation, 0, 1});
    }
    return made;
}

struct Operations : Rdma {
    // Operations in place of requests, and how many responses come.
    uint32_t carry_out(uint32_t count, uint32_t generation) {
        const std::vector<rte_mbuf *> asked = requests(pools[client], count, generation);
        uint32_t sent = 0, responses = 0;
        for (int polls = 0; polls < 300'000 && responses < count; polls++) {
            if (sent < count)
                sent += ports[client].queue->tx(ports[client].channels[0],
                                                const_cast<rte_mbuf **>(asked.data()) + sent,
                                                static_cast<uint16_t>(count - sent));
            poll(client, 0);
            poll(server, 0);
            for (rte_mbuf *m : std::exchange(arrived[client][0], {})) {
                const message_header h = message_header_read(message_of(m));
                EXPECT_EQ(h.kind, message_kind::response);
                EXPECT_EQ(h.application, 3);
                EXPECT_EQ(h.generation, generation);
                rte_pktmbuf_free(m);
                responses++;
            }
        }
        EXPECT_EQ(sent, count);
        EXPECT_TRUE(arrived[server][0].empty());
        return responses;
    }
    named_counts counts(size_t end) { return ports[end].operations->statistics(ports[end]); }
};

struct OneSided : Operations, testing::WithParamInterface<std::tuple<const char *, const char *>> {};

TEST_P(OneSided, OperationsAreRespondedToByTheirCompletions) {
    const auto [type, operation] = GetParam();
    open_with({{"type", type}, {"operation", operation}, {"piece", "4096"}, {"region", "1048576"}});
    ASSERT_TRUE(link_up());
    EXPECT_FALSE(is_pair(ports));
    for (uint32_t round = 0; round < 20; round++) ASSERT_EQ(carry_out(32, round), 32u) << round;
    const bool reads = std::string(operation) == "read";
    EXPECT_EQ(counted(counts(client), reads ? "bytes read" : "bytes written"), 20u * 32 * 4096);
    for (const size_t end : {client, server})
        EXPECT_EQ(counted(counts(end), "wrong pieces read") + counted(counts(end), "wrong bytes written"),
                  0u);
}

INSTANTIATE_TEST_SUITE_P(Each, OneSided,
                         testing::Combine(testing::Values("rc", "rdm"), testing::Values("read", "write")));

// The provider shm wants addresses, so that a test knows where the region is.
uint8_t *const region = reinterpret_cast<uint8_t *>(0x600000000000);

TEST_F(Operations, AWrongByteThatIsReadIsFound) {
    open_with({{"type", "rdm"}, {"operation", "read"}, {"piece", "4096"}, {"region", "8192"}});
    ASSERT_TRUE(link_up());
    region[4096 + 4095] ^= 1;  // of the second piece of two
    const uint32_t responses = carry_out(32, 1);
    EXPECT_GT(responses, 0u);
    EXPECT_LT(responses, 32u);
    EXPECT_EQ(counted(counts(client), "wrong pieces read"), 32 - responses);
}

TEST_F(Operations, AWrongByteThatIsWrittenIsFound) {
    open_with({{"type", "rdm"}, {"operation", "write"}, {"piece", "4096"}, {"region", "8192"}});
    ASSERT_TRUE(link_up());
    EXPECT_EQ(carry_out(32, 1), 32u);
    EXPECT_EQ(counted(counts(server), "wrong bytes written"), 0u);
    region[77] ^= 1;
    EXPECT_EQ(counted(counts(server), "wrong bytes written"), 1u);
}

TEST(Region, PiecesLieAllOverItAndAreRecognised) {
    const region_shape r = {8192, 1024};
    std::vector<uint8_t> bytes(r.bytes);
    random_bytes_fill(region_seed, bytes.data(), r.bytes);
    std::set<uint64_t> positions;
    for (uint64_t name = 0; name < 200; name++) positions.insert(position_of(r, name));
    EXPECT_EQ(positions.size(), 8u);
    for (const uint64_t at : positions) {
        EXPECT_EQ(at % r.piece, 0u);
        EXPECT_TRUE(piece_is_right(r, at, bytes.data() + at));
        EXPECT_FALSE(piece_is_right(r, (at + r.piece) % r.bytes, bytes.data() + at));
    }
    EXPECT_EQ(wrongly_written(bytes.data(), r.bytes), 0u);
    std::memset(bytes.data() + 100, 0, 300);  // not written yet
    EXPECT_EQ(wrongly_written(bytes.data(), r.bytes), 0u);
    const uint8_t right = static_cast<uint8_t>(random_word(region_seed, 0) >> 24);
    bytes[3] = right == 1 ? 2 : 1;
    EXPECT_EQ(wrongly_written(bytes.data(), r.bytes), 1u);
}

TEST_F(Rdma, AConnectionThatBreaksIsADownLink) {
    open_with({{"type", "rc"}});
    ASSERT_TRUE(link_up());
    EXPECT_GT(try_to_send(client, 0, make(client, 32, 1000)), 0u);
    std::vector<port> closed = {std::move(ports[server])};
    ports.pop_back();
    close_ports(closed);
    link_state seen = link_state::up;
    for (int i = 0; i < 1'000'000 && seen == link_state::up; i++) {
        poll(client, 0);
        seen = ports[client].operations->link(ports[client]);
    }
    EXPECT_EQ(seen, link_state::down);
    for (int i = 0; i < 1'000; i++) poll(client, 0);  // posted receives end: they were no packets
    EXPECT_EQ(ports[client].operations->missed(ports[client]), 0u);
    // what is sent from now on is lost, named and freed
    for (int i = 0; i < 100; i++) try_to_send(client, 0, make(client, 4, 1000));
    const named_counts counts = ports[client].operations->statistics(ports[client]);
    EXPECT_GT(ports[client].operations->failed(ports[client]) + counted(counts, "send queue full"), 0u);
}

TEST_F(Rdma, TwoClientsOfOneServerAreOneTooMany) {
    open_with({{"type", "rc"}});
    ASSERT_TRUE(link_up());
    plan second = read;
    second.endpoints.erase(second.endpoints.begin() + server);
    std::vector<port> late = open_ports(second, pools);
    EXPECT_TRUE(contains(refusal_to(late), "the server has another client already"));
    EXPECT_EQ(ports[server].operations->link(ports[server]), link_state::up);
    close_ports(late);
}

TEST_F(Rdma, AClientOfAnotherFileIsToldAndTheServerWaitsForTheRightOne) {
    open_with({{"type", "rc"}});
    std::vector<port> right = {std::move(ports[client])};
    ports.erase(ports.begin() + client);
    plan other = read;
    other.endpoints.erase(other.endpoints.begin() + server);
    other.hash = "another";
    std::vector<port> late = open_ports(other, pools);
    EXPECT_TRUE(contains(refusal_to(late), "the server has another plan: "));
    close_ports(late);
    ports.insert(ports.begin(), std::move(right[0]));
    EXPECT_TRUE(link_up());
}

TEST_F(Rdma, AClientThatIsLostBeforeTheLinkIsUpLeavesItsPlace) {
    open_with({{"type", "rc"}});
    const port &server_port = ports[server];
    for (int i = 0; i < 1'000 && ports[client].operations->link(ports[client]) != link_state::up; i++)
        for (const port &p : ports) p.wire->await_link(p, 1);
    ASSERT_EQ(ports[client].operations->link(ports[client]), link_state::up);
    plan again = read;
    again.endpoints.erase(again.endpoints.begin() + server);
    ports[client].operations->close(ports[client]);
    for (int i = 0; i < 1'000; i++) server_port.wire->await_link(server_port, 1);  // the server looks
    std::vector<port> next = open_ports(again, pools);
    ports[client] = std::move(next[0]);
    EXPECT_TRUE(link_up());
    EXPECT_EQ(server_port.operations->link(server_port), link_state::up);
    close_ports(ports);
}

// It was asked by this client once, and is at the server's address before the server.
TEST_F(Rdma, AServerThatHasTheHalfOfTheClientAloneIsRefused) {
    read = read_plan(plan_of({{"type", "rc"}}).dump());
    plan of_client = read, of_server = read;
    of_client.endpoints.erase(of_client.endpoints.begin() + server);
    of_server.endpoints.erase(of_server.endpoints.begin() + client);
    const size_t half = read.hash.size() / 2;
    of_server.hash.replace(half, half, half, 'x');
    ports = open_ports(of_server, {pools[server]});
    std::vector<port> asking = open_ports(of_client, {pools[client]});
    EXPECT_TRUE(contains(refusal_to(asking), "the server has another plan: "));
    close_ports(asking);
}

TEST_F(Rdma, TakesNoMemoryThatOthersMayHaveMade) {
    const json p = plan_of({{"type", "rdm"}});
    for (size_t i : {client, server}) {
        const json &e = p["endpoints"][i];
        const std::filesystem::path memory =
            "/dev/shm/windtunnel-" + e["ip"].get<std::string>() + "-" + e["udp_port"].dump();
        std::ofstream(memory).put(0);
        std::filesystem::permissions(memory, std::filesystem::perms{0606});
        EXPECT_TRUE(contains(refusal_of(p), memory.string() + " is not this user's alone"));
        std::filesystem::remove(memory);
    }
}

TEST_F(Rdma, RefusesWhatItCannotDo) {
    EXPECT_TRUE(
        contains(refusal_of(plan_of({{"type", "ud"}, {"provider", "tcp"}})),
                 "the provider tcp has no type ud; provider = \"udp\" or \"verbs\", or another type"));
    EXPECT_TRUE(contains(refusal_of(plan_of({{"type", "ud"}, {"operation", "read"}})),
                         "datagrams cannot read the other side's memory; type = \"rc\" or \"rdm\""));
    EXPECT_TRUE(
        contains(refusal_of(plan_of({{"operation", "write"}, {"piece", "20"}})), "a multiple of 8 bytes"));
    EXPECT_TRUE(
        contains(refusal_of(plan_of({{"operation", "read"}, {"region", "4096"}})), "fits the region"));
    EXPECT_TRUE(contains(refusal_of(plan_of({{"provider", "efa"}, {"type", "rdm"}})),
                         "libfabric has no provider \"efa\" here"));
    json p = plan_of({{"type", "ud"}});
    p["endpoints"][client]["mtu"] = p["endpoints"][server]["mtu"] = 1501;
    EXPECT_TRUE(
        contains(refusal_of(p), "makes messages of 1473 bytes, and udp carries 1472; client.mtu = 1500"));
    p = plan_of({});
    p["endpoints"][client]["ip"] = "192.0.2.99";
    EXPECT_TRUE(contains(refusal_of(p), "client.ip 192.0.2.99 is no address of this host"));
    p = plan_of({});
    p["endpoints"][client]["port"]["chains"] = true;
    EXPECT_TRUE(contains(refusal_of(p), "a send is one mbuf"));
    p = plan_of({});
    p["endpoints"][server]["peer_ip"] = nullptr;
    EXPECT_TRUE(contains(refusal_of(p), "endpoints[1].peer_ip"));
}

TEST_F(Rdma, AnEndWhoseNameInMemoryIsTakenIsRefused) {
    const json p = plan_of({{"type", "rdm"}});
    open(p);
    const std::vector<port> first = std::exchange(ports, {});
    EXPECT_TRUE(contains(refusal_of(p), "another run has the address 127.0.0.2, port"));
    ports = first;
}

TEST_F(Rdma, AnEndWithAQueueWhoseNameInMemoryIsTakenIsRefused) {
    json p = plan_of({{"type", "rdm"}});
    open(p);
    const std::vector<port> first = std::exchange(ports, {});
    json &late = p["endpoints"][client];
    late["udp_port"] = late["udp_port"].get<int>() + 1;  // of its two queues the first one
    EXPECT_TRUE(contains(refusal_of(p), "another run has the address 127.0.0.2, port " +
                                            std::to_string(late["udp_port"].get<int>())));
    ports = first;
}

struct RdmaTaken : Rdma, testing::WithParamInterface<const char *> {};

TEST_P(RdmaTaken, AnEndWhoseAddressIsTakenIsRefused) {
    const json p = plan_of({{"type", GetParam()}});
    open(p);
    const std::vector<port> first = std::exchange(ports, {});
    const std::string said = refusal_of(p);
    EXPECT_TRUE(contains(said, "another program has the address 127.0.0.")) << said;
    EXPECT_TRUE(contains(said, ".port")) << said;
    ports = first;
}

INSTANTIATE_TEST_SUITE_P(Each, RdmaTaken, testing::Values("rc", "ud"));

// What libfabric's own providers do, found by trying.
struct RdmaTried : Rdma {
    std::optional<fabric_ability> tried(const wire_texts &options, uint32_t bytes) {
        read = read_plan(plan_of(options).dump());
        const wire_end end = {wire_named("rdma"),
                              read.endpoints[client],
                              client,
                              pools[client],
                              {"rdma wire", wire_named("rdma").about, options},
                              read.hash};
        const std::string &type = end.values.text("type");
        const rdma_setup setup = {end,
                                  type == "rc"   ? "tcp"
                                  : type == "ud" ? "udp"
                                                 : "shm",
                                  type == "rc"   ? rdma_type::rc
                                  : type == "ud" ? rdma_type::ud
                                                 : rdma_type::rdm,
                                  128,
                                  16,
                                  "",
                                  "",
                                  rdma_operation::send,
                                  {}};
        return try_provider(setup,
                            {.largest = bytes, .receives = 128, .sends = 128, .selective = type == "rc"});
    }
};

TEST_F(RdmaTried, DatagramsOfTheSizeThatIsClaimedArrive) {
    EXPECT_EQ(tried({{"type", "ud"}}, 1472)->largest, 1472u);
}

TEST_F(RdmaTried, ReliableTypesCarryTheLargestMtu) {
    for (const char *type : {"rc", "rdm"}) {
        const auto found = tried({{"type", type}}, 8972);
        ASSERT_TRUE(found) << type;
        EXPECT_EQ(found->largest, 8972u) << type;
        EXPECT_EQ(found->receives, 128u) << type;
        EXPECT_EQ(found->sends, 128u) << type;
    }
}

TEST_F(RdmaTried, ConnectionsReportOnlyTheSendsThatAsk) {
    EXPECT_TRUE(tried({{"type", "rc"}}, 100)->selective);
}

TEST(Posted, PlacesAreFreedInAnyOrderAndInOne) {
    rte_mempool *pool = rte_pktmbuf_pool_create("wt_posted", 63, 0, 0, 256, SOCKET_ID_ANY);
    posted_mbufs p;
    p.resize(5);
    std::vector<rte_mbuf *> m(5);
    for (int round = 0; round < 20; round++) {
        ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool, m.data(), 5), 0);
        for (rte_mbuf *each : m) {
            EXPECT_FALSE(posted_is_full(p));
            posted_add(p, each);
        }
        EXPECT_TRUE(posted_is_full(p));
        posted_remove(p, m[2]);
        posted_remove(p, m[0]);
        EXPECT_EQ(p.count, 3u);
        rte_pktmbuf_free(m[2]);
        rte_pktmbuf_free(m[0]);
        posted_free(p, m[3]);
        EXPECT_EQ(p.count, 1u);
        EXPECT_EQ(rte_mempool_avail_count(pool), 62u);
        posted_free(p, nullptr);
        EXPECT_EQ(p.count, 0u);
    }
    // one that never ends keeps places, not more mbufs than its depth
    ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool, m.data(), 2), 0);
    posted_add(p, m[0]);
    for (int i = 0; i < 15; i++) {
        posted_add(p, m[1]);
        posted_remove(p, m[1]);
    }
    EXPECT_TRUE(posted_is_full(p));
    posted_remove(p, m[0]);
    EXPECT_FALSE(posted_is_full(p));
    rte_pktmbuf_free_bulk(m.data(), 2);
    EXPECT_EQ(rte_mempool_avail_count(pool), 63u);
    rte_mempool_free(pool);
}

}  // namespace
}  // namespace wt::test::rdma_wire_test
