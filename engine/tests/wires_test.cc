// Ports on virtual devices, the recorder and the duplicates of planted faults: the tests that need EAL. No
// root, no hugepages.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pcap/pcap.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <numeric>

#include "core/clock.h"
#include "core/frame.h"
#include "core/refusal.h"
#include "core/vlan.h"
#include "suite.h"
#include "test_tools.h"
#include "valid_plan.h"
#include "wires/faults.h"
#include "wires/interface.h"
#include "wires/port.h"
#include "wires/recorder.h"
#include "wires/timed_capture.h"
#include "wires_tools.h"

namespace wt::test::wires_test {

namespace {

const wt::test::needs_eal eal(64);

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

constexpr uint32_t pool_size = 1023;

struct Ports : testing::Test {
    Ports() {
        for (const char *pool : {"wt_pool0", "wt_pool1"})
            pools.push_back(
                rte_pktmbuf_pool_create(pool, pool_size, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY));
    }
    ~Ports() override {
        wt::close_ports(ports);
        for (rte_mempool *pool : pools) {
            EXPECT_EQ(rte_mempool_avail_count(pool), pool_size)
                << pool->name << " did not get all its mbufs back";
            rte_mempool_free(pool);
        }
    }

    // A plan with one server on the given wire, or with both sides on a ring wire; `port` has what else its
    // port is to be.
    static wt::plan plan_on(const std::string &wire, const wire_texts &options, const json &port) {
        json plan = wt::test::valid_plan();
        for (json &endpoint : plan["endpoints"]) {
            endpoint["port"].update({{"faults", nullptr},
                                     {"rx_free_thresh", nullptr},
                                     {"tx_free_thresh", nullptr},
                                     {"tx_rs_thresh", nullptr}});
            endpoint["port"].update(port);
            wt::test::put_on(endpoint, wire, options);
        }
        if (wire != "ring") wt::test::leave_server(plan);
        return wt::read_plan(plan.dump());
    }
    void open(const std::string &wire, const wire_texts &options = {}, const json &port = json::object()) {
        ports = wt::open_ports(plan_on(wire, options, port), pools);
    }
    std::string refusal_of(const std::string &wire, const wire_texts &options) {
        return wt::test::refusal_of([&] { open(wire, options); });
    }

    std::vector<rte_mbuf *> make(size_t pool, uint32_t count, uint16_t bytes = 60) {
        std::vector<rte_mbuf *> burst(count);
        EXPECT_EQ(rte_pktmbuf_alloc_bulk(pools[pool], burst.data(), count), 0);
        for (uint32_t i = 0; i < count; i++)
            std::memset(rte_pktmbuf_append(burst[i], bytes), static_cast<int>(i), bytes);
        return burst;
    }

    // A capture of `frames` frames of `bytes`, each filled with its number.
    std::string capture(uint32_t frames, uint32_t bytes, int link_type = DLT_EN10MB) {
        const std::string path = (directory / "replay.pcap").string();
        pcap_t *format = pcap_open_dead(link_type, 65535);
        pcap_dumper_t *file = pcap_dump_open(format, path.c_str());
        for (uint32_t i = 0; i < frames; i++) {
            const std::string frame(bytes, static_cast<char>(i));
            pcap_pkthdr header{};
            header.caplen = header.len = bytes;
            pcap_dump(reinterpret_cast<u_char *>(file), &header,
                      reinterpret_cast<const u_char *>(frame.data()));
        }
        pcap_dump_close(file);
        pcap_close(format);
        return path;
    }

    wt::test::temporary_directory directory;
    std::vector<rte_mempool *> pools;
    std::vector<wt::port> ports;
};

uint8_t first_byte(const rte_mbuf *m) { return *rte_pktmbuf_mtod(m, const uint8_t *); }

TEST_F(Ports, NullReceivesFramesOfItsSizeAndDropsSentFrames) {
    open("null", {{"packet", "100"}, {"copy", "true"}});
    EXPECT_EQ(ports[0].driver, "net_null");
    EXPECT_FALSE(ports[0].has_doorbells);
    EXPECT_TRUE(wt::wait_for_links(ports, [](void *) { return false; }, nullptr));
    rte_mbuf *burst[32];
    for (uint16_t q = 0; q < 2; q++) {
        ASSERT_EQ(rte_eth_rx_burst(ports[0].id, q, burst, 32), 32);
        EXPECT_EQ(rte_pktmbuf_pkt_len(burst[0]), 100u);
        EXPECT_EQ(rte_eth_tx_burst(ports[0].id, q, burst, 32), 32);
    }
    EXPECT_EQ(rte_mempool_avail_count(pools[0]), pool_size);
}

TEST_F(Ports, NullRefusesFramesLongerThanAnMbuf) {
    EXPECT_TRUE(contains(refusal_of("null", {{"packet", "2049"}}), "1 to 2048"));
    EXPECT_TRUE(contains(refusal_of("null", {{"packet", "0"}}), "is not from 60 to 9014"));
}

TEST_F(Ports, RingCarriesBothWaysOnEachQueueAndHoldsItsDescriptors) {
    open("ring", {}, {{"rx_descriptors", 64}});
    ASSERT_EQ(ports.size(), 2u);
    EXPECT_EQ(ports[0].driver, "net_ring");
    EXPECT_TRUE(contains(ports[0].notes.at(0), "no copy"));
    EXPECT_TRUE(wt::wait_for_links(ports, [](void *) { return false; }, nullptr));
    for (const size_t from : {0, 1})
        for (const uint16_t q : {0, 1}) {
            std::vector<rte_mbuf *> sent = make(from, 128), got(128);
            const uint16_t taken = rte_eth_tx_burst(ports[from].id, q, sent.data(), 128);
            EXPECT_EQ(taken, 64);
            EXPECT_EQ(rte_eth_rx_burst(ports[1 - from].id, 1 - q, got.data(), 128), 0);
            EXPECT_EQ(rte_eth_rx_burst(ports[1 - from].id, q, got.data(), 128), taken);
            EXPECT_TRUE(std::equal(sent.begin(), sent.begin() + taken, got.begin()));
            rte_pktmbuf_free_bulk(sent.data(), 128);
        }
}

// Frames of a side with another number of queues than the other one go by their UDP ports.
TEST_F(Ports, RingOfUnlikeQueuesBringsEachFrameToThatOfItsPort) {
    json plan = wt::test::valid_plan();
    for (json &endpoint : plan["endpoints"]) {
        endpoint["port"].update({{"faults", nullptr}, {"rx_descriptors", 64}});
        wt::test::put_on(endpoint, "ring", {});
    }
    json &client = plan["endpoints"][0], &server = plan["endpoints"][1];
    server["port"]["queues"] = 3;
    client["dispatchers"][0]["peers"] = client["dispatchers"][1]["peers"] = {0, 1, 2};
    server["vlan"] = nullptr;  // the client's frames have a tag, the server's none
    ports = wt::open_ports(wt::read_plan(plan.dump()), pools);
    ASSERT_NE(ports[0].queue, nullptr);
    EXPECT_TRUE(contains(ports[0].notes.at(0), "queues: 2 on this side, 3 on the other"));
    EXPECT_TRUE(wt::wait_for_links(ports, [](void *) { return false; }, nullptr));

    const auto send = [&](size_t from, uint16_t queue, uint16_t port, uint16_t count) {
        std::vector<rte_mbuf *> burst = make(from, count);
        const uint32_t at = offset::destination_port + (from == 0 ? vlan_tag_bytes : 0);
        for (rte_mbuf *m : burst) *rte_pktmbuf_mtod_offset(m, rte_be16_t *, at) = rte_cpu_to_be_16(port);
        const uint16_t sent = ports[from].queue->tx(ports[from].channels[queue], burst.data(), count);
        rte_pktmbuf_free_bulk(burst.data() + sent, count - sent);
        return sent;
    };
    const auto receive = [&](size_t to) {
        std::vector<uint16_t> counts;
        for (void *channel : ports[to].channels) {
            rte_mbuf *burst[128];
            counts.push_back(ports[to].queue->rx(channel, burst, 128));
            rte_pktmbuf_free_bulk(burst, counts.back());
        }
        return counts;
    };
    for (const uint16_t queue : {0, 1}) {
        EXPECT_EQ(send(0, queue, 4000, 1) + send(0, queue, 4001, 2) + send(0, queue, 4002, 3), 6);
        EXPECT_EQ(receive(1), (std::vector<uint16_t>{1, 2, 3}));
    }
    for (const uint16_t queue : {0, 1, 2}) EXPECT_EQ(send(1, queue, 4001, 4), 4);
    EXPECT_EQ(receive(0), (std::vector<uint16_t>{0, 12}));
    EXPECT_EQ(send(0, 0, 9, 1), 1);
    EXPECT_EQ(receive(1), (std::vector<uint16_t>{1, 0, 0})) << "a port of nobody's";
    EXPECT_EQ(send(0, 0, 4002, 100), 64) << "a queue holds its descriptors";
    EXPECT_EQ(wt::drain_wire(ports, 0), 64u);
}

TEST_F(Ports, DrainedWireIsCountedBySource) {
    open("ring");
    std::vector<rte_mbuf *> a = make(0, 10), b = make(1, 3);
    ASSERT_EQ(rte_eth_tx_burst(ports[0].id, 1, a.data(), 10), 10);
    ASSERT_EQ(rte_eth_tx_burst(ports[1].id, 0, b.data(), 3), 3);
    EXPECT_EQ(wt::drain_wire(ports, 0), 10u);
    EXPECT_EQ(wt::drain_wire(ports, 0), 0u);
    // what the server sent is freed when the ports are closed: the fixture counts the pools
}

TEST_F(Ports, PcapReplaysEveryFrameInOrderInALoop) {
    open("pcap", {{"replay", capture(10, 77)}});
    EXPECT_EQ(ports[0].driver, "net_pcap");
    EXPECT_EQ(rte_mempool_avail_count(pools[0]), pool_size - 20);
    for (uint16_t q = 0; q < 2; q++) {
        rte_mbuf *burst[25];
        ASSERT_EQ(rte_eth_rx_burst(ports[0].id, q, burst, 25), 25);
        for (uint32_t i = 0; i < 25; i++) {
            EXPECT_EQ(rte_pktmbuf_pkt_len(burst[i]), 77u);
            EXPECT_EQ(first_byte(burst[i]), i % 10);
        }
        // net_pcap takes the packets that it drops
        EXPECT_EQ(rte_eth_tx_burst(ports[0].id, q, burst, 25), 25);
    }
}

TEST_F(Ports, PcapRefusesCapturesThatItCannotReplay) {
    const auto refused = [&](const std::string &path) { return refusal_of("pcap", {{"replay", path}}); };
    EXPECT_TRUE(contains(refused("/absent.pcap"), "No such file"));
    EXPECT_TRUE(contains(refused(capture(0, 0)), "holds no frame"));
    EXPECT_TRUE(contains(refused(capture(1, 60, DLT_RAW)), "RAW frames, not Ethernet"));
    EXPECT_TRUE(contains(refused(capture(1, 2049)), "a frame of 2049 bytes"));
    EXPECT_TRUE(contains(refused(capture(512, 60)), "stay in 1024 mbufs"));
    fs::resize_file(capture(10, 60), 24 + 16 + 60 + 16 + 30);
    EXPECT_TRUE(contains(refused((directory / "replay.pcap").string()), "damaged after frame 1"));
    std::ofstream(directory / "text") << "this is no capture at all";
    EXPECT_TRUE(contains(refused((directory / "text").string()), "not a capture"));
    EXPECT_TRUE(contains(refused("/tmp/a,b.pcap"), "comma"));
}

// Frames of 60 bytes at these times (ns), nanosecond pcap; `to` is the UDP port of each.
std::string timed(const fs::path &path, const std::vector<uint64_t> &times,
                  const std::vector<uint16_t> &to = {}) {
    pcap_t *format = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, 65535, PCAP_TSTAMP_PRECISION_NANO);
    pcap_dumper_t *file = pcap_dump_open(format, path.c_str());
    for (size_t i = 0; i < times.size(); i++) {
        u_char frame[60] = {};
        frame[12] = 8, frame[14] = 0x45, frame[23] = 17;
        frame[0] = static_cast<u_char>(i);
        if (i < to.size())
            frame[36] = static_cast<u_char>(to[i] >> 8), frame[37] = static_cast<u_char>(to[i]);
        pcap_pkthdr header{};
        header.ts.tv_sec = static_cast<time_t>(times[i] / 1'000'000'000);
        header.ts.tv_usec = static_cast<suseconds_t>(times[i] % 1'000'000'000);
        header.caplen = header.len = sizeof frame;
        pcap_dump(reinterpret_cast<u_char *>(file), &header, frame);
    }
    pcap_dump_close(file);
    pcap_close(format);
    return path;
}

TEST_F(Ports, TimedCaptureIsReadCompletelyAndSortedToQueues) {
    const std::string path =
        timed(directory / "timed.pcap", {5'000'000'007, 5'000'000'107, 5'000'001'007}, {9001, 9000, 9002});
    const wt::timed_capture all = wt::read_timed_capture(path, 9000, 2, 2048);
    EXPECT_EQ(all.frames, 3u);
    EXPECT_EQ(all.round_ns, 1500u);
    ASSERT_EQ(all.queues[0].size(), 2u);
    ASSERT_EQ(all.queues[1].size(), 1u);
    EXPECT_EQ(all.queues[1][0].due_ns, 0u);
    EXPECT_EQ(all.queues[0][0].due_ns, 100u);
    EXPECT_EQ(all.queues[0][1].due_ns, 1000u) << "to no queue's port: the first one's";
    EXPECT_EQ(all.bytes[all.queues[0][1].at], 2);
    open("pcap", {{"replay", path}, {"pace", "capture"}});
    EXPECT_EQ(ports[0].driver, "net_null");
    EXPECT_EQ(rte_mempool_avail_count(pools[0]), pool_size) << "no frame waits in an mbuf";
}

TEST_F(Ports, TimedCaptureRefusesInvalidTimes) {
    const auto refused = [&](const std::vector<uint64_t> &times) {
        return refusal_of("pcap", {{"replay", timed(directory / "timed.pcap", times)}, {"pace", "capture"}});
    };
    EXPECT_TRUE(
        contains(refused({1000, 2000, 3000, 2500}), "frame 4 is 0.500 us older than the frame before it"));
    const uint64_t day = 86'400'000'000'000;
    EXPECT_TRUE(
        contains(refused({1000, 2000, 20'000 * day}), "frame 3 is 19999 days younger than the first one"));
    EXPECT_EQ(wt::read_timed_capture(timed(directory / "year.pcap", {1000, 365 * day}), 9000, 1, 2048).frames,
              2u);
    EXPECT_TRUE(contains(refused({1000}), "all its frames have the same time"));
    EXPECT_TRUE(contains(refused({1000, 1000}), "all its frames have the same time"));
    EXPECT_TRUE(contains(refused({}), "holds no frame"));
}

// Its owner may have one, and open() would wait 45 s for them to give it back.
TEST_F(Ports, TimedCaptureWithALeaseIsNotWaitedFor) {
    const std::string path = timed(directory / "timed.pcap", {1000, 2000});
    std::signal(SIGIO, SIG_IGN);
    const int lease = ::open(path.c_str(), O_RDWR);
    if (fcntl(lease, F_SETLEASE, F_WRLCK) != 0) GTEST_SKIP() << "no leases here: " << std::strerror(errno);
    EXPECT_TRUE(contains(refusal_of("pcap", {{"replay", path}, {"pace", "capture"}}),
                         "Resource temporarily unavailable"));
    ::close(lease);
}

TEST_F(Ports, XdpAndTapRefuseWhatTheKernelDoesNotSupport) {
    const bool root = geteuid() == 0;
    const std::string xdp = refusal_of("af_xdp", {{"interface", "absent0"}});
    EXPECT_TRUE(contains(xdp, root ? "interface \"absent0\" does not exist" : "does not have CAP_NET_RAW"))
        << xdp;
    EXPECT_TRUE(contains(refusal_of("tap", {{"interface", "lo"}}), "interface \"lo\" exists"));
    EXPECT_TRUE(contains(refusal_of("tap", {{"interface", "a-name-of-16-let"}}), "longer than"));
}

TEST_F(Ports, AfPacketRefusesAMissingInterface) {
    const std::string words = refusal_of("af_packet", {{"interface", "absent0"}});
    EXPECT_TRUE(contains(words, geteuid() == 0 ? "does not exist" : "CAP_NET_RAW")) << words;
}

// As another program's socket has it, whose process and interface make the same number.
TEST_F(Ports, AfPacketRefusesTheFanoutGroupOfAnother) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: packet sockets";
    const unsigned index = if_nametoindex("lo"), group = (static_cast<unsigned>(getpid()) ^ index) & 0xffff;
    const wt::packet_socket other;
    const sockaddr_ll address{
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = static_cast<int>(index)};
    ASSERT_EQ(bind(other.fd, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
    const unsigned argument = group | PACKET_FANOUT_CPU << 16;
    ASSERT_EQ(setsockopt(other.fd, SOL_PACKET, PACKET_FANOUT, &argument, sizeof argument), 0)
        << strerror(errno);
    const std::string refused = refusal_of("af_packet", {{"interface", "lo"}});
    EXPECT_TRUE(contains(refused, "fanout group " + std::to_string(group))) << refused;
}

TEST(Interface, ItsCarrierIsTheLink) {
    const auto state = [](const char *name) {
        wt::port p{};
        p.interface = name;
        return wt::interface_operations.link(p);
    };
    EXPECT_EQ(state("lo"), wt::link_state::up);
    EXPECT_EQ(state("absent0"), wt::link_state::down) << "taken away in the run";
    wt::port cut{};
    cut.interface = "absent0";
    EXPECT_EQ(wt::interface_operations.words(cut), "interface absent0: link down");
    wt::await_carrier(cut, 999);
    EXPECT_EQ(wt::test::refusal_of([&] { wt::await_carrier(cut, 1000); }),
              "interface absent0: its link is still down after 10 s");
}

TEST_F(Ports, MemifServerListensAndReportsAMissingClient) {
    const std::string path = (directory / "m.sock").string();
    open("memif", {{"socket", path}}, {{"rx_descriptors", 128}});
    EXPECT_EQ(ports[0].driver, "net_memif");
    EXPECT_TRUE(contains(ports[0].notes.at(1), "rings of 256"));
    EXPECT_TRUE(fs::is_socket(path));
    EXPECT_EQ(fs::status(path).permissions() & (fs::perms::group_all | fs::perms::others_all),
              fs::perms::none)
        << "another user could end the engine";
    int asked = 0;
    EXPECT_FALSE(
        wt::wait_for_links(ports, [](void *count) { return ++*static_cast<int *>(count) < 3; }, &asked));
    EXPECT_EQ(asked, 3);
}

TEST_F(Ports, MemifClientWaitsForItsServer) {
    open("memif", {{"socket", (directory / "m.sock").string()}, {"role", "client"}});
    EXPECT_FALSE(wt::wait_for_links(ports, [](void *) { return false; }, nullptr));
}

TEST_F(Ports, MemifRefusesInvalidSockets) {
    const auto refused = [&](const std::string &path) { return refusal_of("memif", {{"socket", path}}); };
    EXPECT_TRUE(contains(refused("/absent/m.sock"), "its directory"));
    EXPECT_TRUE(contains(refused(directory / std::string(120, 'x')), "longer than"));
    std::ofstream(directory / "file") << "precious";
    EXPECT_TRUE(contains(refused(directory / "file"), "something else"));
    EXPECT_TRUE(fs::exists(directory / "file"));
}

// Whoever serves the socket is given the engine's memory: another user may neither be its owner nor put
// another one in its place, by a directory or a link on the way to it.
TEST_F(Ports, MemifTakesNoSocketOfAnotherUser) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: gives files away";
    constexpr uid_t other = 54321;
    const auto gives_away = [](const fs::path &path) { ASSERT_EQ(lchown(path.c_str(), other, other), 0); };
    const auto refused = [&](const fs::path &path, const char *role) {
        return refusal_of("memif", {{"socket", path.string()}, {"role", role}});
    };
    const fs::path theirs = directory / "theirs", groups = directory / "groups", all = groups / "all",
                   link = directory / "link";
    for (const fs::path &made : {theirs, all, directory / "mine"}) fs::create_directories(made / "mine");
    fs::permissions(all, fs::perms::all);
    fs::create_directories(groups / "mine");
    fs::permissions(groups, fs::perms::owner_all | fs::perms::group_all);
    ASSERT_EQ(chown(groups.c_str(), 0, other), 0);
    gives_away(theirs);
    fs::create_directory_symlink(directory / "mine", link);
    gives_away(link);
    fs::create_directory_symlink("theirs/mine", directory / "leads");
    for (const char *role : {"server", "client"}) {
        for (const fs::path &on_the_way : {theirs, theirs / "mine", link, directory / "leads"})
            EXPECT_TRUE(
                contains(refused(on_the_way / "m.sock", role), "is of user 54321, and this is user 0"))
                << on_the_way;
        EXPECT_TRUE(contains(refused(groups / "mine" / "m.sock", role), "other users may write")) << role;
    }
    ASSERT_EQ(chown(groups.c_str(), 0, 0), 0);  // root is alone in its group
    for (const char *role : {"server", "client"})
        EXPECT_TRUE(contains(refused(all / "mine" / "m.sock", role), "other users may write")) << role;
    fs::permissions(all, fs::perms::all | fs::perms::sticky_bit);  // as /tmp
    open("memif", {{"socket", all / "m.sock"}, {"role", "client"}});
    std::ofstream(all / "m.sock") << "theirs";
    const auto waits = [&] {
        int looks = 3;
        wt::wait_for_links(ports, [](void *left) { return --*static_cast<int *>(left) > 0; }, &looks);
    };
    waits();
    gives_away(all / "m.sock");
    EXPECT_TRUE(contains(wt::test::refusal_of(waits), "is of user 54321"));
}

// A server that is stopped takes no connection: one more would wait for ever.
TEST_F(Ports, MemifRefusesASocketWhoseServerDoesNotRespond) {
    const std::string path = directory / "m.sock";
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const auto *at = reinterpret_cast<const sockaddr *>(&address);
    const auto make = [] { return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0); };
    const int server = make();
    ASSERT_EQ(bind(server, at, sizeof address) | listen(server, 0), 0);
    std::vector<int> waiting;
    do waiting.push_back(make());
    while (connect(waiting.back(), at, sizeof address) == 0);
    auto words = std::async(std::launch::async, [&] { return refusal_of("memif", {{"socket", path}}); });
    EXPECT_EQ(words.wait_for(std::chrono::seconds(2)), std::future_status::ready);
    for (const int fd : waiting) close(fd);
    close(server);
    EXPECT_TRUE(contains(words.get(), "another process serves it"));
}

// As a scenario may name docker's: asked as memif asks, a living server of another type does not respond.
TEST_F(Ports, MemifLeavesASocketOfAnotherTypeAlone) {
    const std::string path = directory / "m.sock";
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int server = socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(bind(server, reinterpret_cast<const sockaddr *>(&address), sizeof address) | listen(server, 1),
              0);
    EXPECT_TRUE(contains(refusal_of("memif", {{"socket", path}}), "another process serves it"));
    EXPECT_TRUE(fs::is_socket(path));
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    const rlimit none{.rlim_cur = 0, .rlim_max = files.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    const std::string unseen = refusal_of("memif", {{"socket", path}});
    setrlimit(RLIMIT_NOFILE, &files);
    EXPECT_TRUE(contains(unseen, "Too many open files"));
    EXPECT_TRUE(fs::is_socket(path));
    close(server);
}

TEST_F(Ports, ThresholdsAndFaultsAreRecorded) {
    open("null", {},
         {{"tx_rs_thresh", 16},
          {"faults", {{"loss", 0.01}, {"duplicate", 0}, {"reorder", 0}, {"reorder_depth", 1}}}});
    const std::string all = std::accumulate(ports[0].notes.begin(), ports[0].notes.end(), std::string());
    EXPECT_TRUE(contains(all, "thresholds"));
    EXPECT_TRUE(contains(all, "emulated on what the server sends: loss 0.01"));
}

TEST_F(Ports, FullDuplicationSendsAnExactCopyOfEachFrame) {
    wt::faults f;
    wt::faults_init(f, {.loss = 0, .duplicate = 1, .reorder = 0.5, .reorder_depth = 3}, 1, pools[1]);
    std::vector<rte_mbuf *> burst = make(0, 200), out(2 * 200 + 64);
    uint32_t count = wt::faults_apply(f, burst.data(), 200, out.data());
    count += wt::faults_release(f, out.data() + count);
    EXPECT_EQ(count, 400u);
    EXPECT_EQ(f.duplicated, 200u);
    EXPECT_EQ(rte_mempool_avail_count(pools[1]), pool_size - 200);
    std::vector<int> seen(200);
    for (uint32_t i = 0; i < count; i++) seen[first_byte(out[i])]++;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 2), 200);
    rte_pktmbuf_free_bulk(out.data(), count);
}

TEST_F(Ports, WithoutAnMbufForACopyNoDuplicateIsSent) {
    std::vector<rte_mbuf *> all = make(1, pool_size), burst = make(0, 10), out(2 * 10 + 64);
    wt::faults f;
    wt::faults_init(f, {.loss = 0, .duplicate = 1, .reorder = 0, .reorder_depth = 1}, 1, pools[1]);
    EXPECT_EQ(wt::faults_apply(f, burst.data(), 10, out.data()), 10u);
    EXPECT_EQ(f.duplicated, 0u);
    rte_pktmbuf_free_bulk(out.data(), 10);
    rte_pktmbuf_free_bulk(all.data(), pool_size);
}

TEST_F(Ports, RecorderWritesCopiesWithTheirTimes) {
    const std::string path = (directory / "r.pcap").string();
    const double ns_per_tick = 0.5;
    const uint64_t start = wt::now();
    wt::recorder *r = wt::recorder_open(path, false, ns_per_tick, SOCKET_ID_ANY);
    std::vector<rte_mbuf *> burst = make(0, 100, 123);
    wt::recorder_take(r, burst.data(), 100, start + 2'000'000'000, wt::direction::sent);
    wt::recorder_take(r, burst.data(), 1, start + 2'000'000'010, wt::direction::sent);
    rte_pktmbuf_free_bulk(burst.data(), 100);
    const wt::recorded result = wt::recorder_close(r);
    EXPECT_EQ(result.sent, 101u);
    EXPECT_EQ(result.missed, 0u);

    char why[PCAP_ERRBUF_SIZE];
    pcap_t *file = pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, why);
    ASSERT_NE(file, nullptr) << why;
    pcap_pkthdr *header;
    const u_char *bytes;
    int64_t first = 0, last = 0;
    for (uint32_t i = 0; i < 101; i++) {
        ASSERT_EQ(pcap_next_ex(file, &header, &bytes), 1);
        EXPECT_EQ(header->caplen, 123u);
        EXPECT_EQ(bytes[122], i % 100);
        last = header->ts.tv_sec * 1'000'000'000l + header->ts.tv_usec;
        if (i == 0) first = last;
    }
    EXPECT_EQ(last - first, 5);
    pcap_close(file);
}

TEST_F(Ports, RecorderCountsFramesWithoutRoom) {
    wt::recorder *r = wt::recorder_open((directory / "r.pcap").string(), false, 1, SOCKET_ID_ANY);
    std::vector<rte_mbuf *> burst = make(0, 500);
    for (int i = 0; i < 20; i++)
        wt::recorder_take(r, burst.data(), 500, wt::now(), wt::direction::sent);  // never drained meanwhile
    rte_pktmbuf_free_bulk(burst.data(), 500);
    const wt::recorded result = wt::recorder_close(r);
    EXPECT_EQ(result.sent + result.missed, 10'000u);
    EXPECT_GT(result.missed, 0u);
    EXPECT_GT(result.sent, 4'000u);
}

TEST_F(Ports, RecorderThatCannotStartLeavesNoFile) {
    std::ofstream(directory / "r.pcap") << "precious";
    for (int i = 0; i < 2; i++)  // the second time it is not for want of a name
        EXPECT_THROW(wt::recorder_open((directory / "r.pcap").string(), false, 1, SOCKET_ID_ANY),
                     wt::refusal);
}

// Frames in the file, each by its last byte.
std::vector<int> last_bytes(const std::string &path) {
    char why[PCAP_ERRBUF_SIZE];
    pcap_t *file = pcap_open_offline(path.c_str(), why);
    EXPECT_NE(file, nullptr) << why;
    pcap_pkthdr *header;
    const u_char *bytes;
    std::vector<int> found;
    while (file && pcap_next_ex(file, &header, &bytes) == 1) found.push_back(bytes[header->caplen - 1]);
    if (file) pcap_close(file);
    return found;
}

TEST_F(Ports, RecorderKeepsWhatIsReceivedApart) {
    const std::string path = (directory / "r.pcap").string();
    wt::recorder *r = wt::recorder_open(path, true, 1, SOCKET_ID_ANY);
    std::vector<rte_mbuf *> burst = make(0, 3, 60);
    wt::recorder_take(r, burst.data(), 2, wt::now(), wt::direction::received);
    wt::recorder_take(r, burst.data() + 2, 1, wt::now(), wt::direction::sent);
    rte_pktmbuf_free_bulk(burst.data(), 3);
    const wt::recorded result = wt::recorder_close(r);
    EXPECT_EQ(result.sent, 1u);
    EXPECT_EQ(result.received, 2u);
    EXPECT_EQ(result.missed, 0u);
    EXPECT_EQ(last_bytes(path), std::vector<int>{2});
    EXPECT_EQ(last_bytes((directory / "r-received.pcap").string()), (std::vector<int>{0, 1}));
}

TEST_F(Ports, RecorderOverwritesNothingThatWasReceivedEither) {
    std::ofstream(directory / "r-received.pcap") << "precious";
    EXPECT_THROW(wt::recorder_open((directory / "r.pcap").string(), true, 1, SOCKET_ID_ANY), wt::refusal);
}

}  // namespace

}  // namespace wt::test::wires_test
