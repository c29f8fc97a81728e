// Checksums that a port computes and checks, with the flags set by hand. Starts EAL on ordinary memory.
#include <pcap/pcap.h>
#include <rte_net.h>

#include <filesystem>

#include "core/port_checksums.h"
#include "stages_rig.h"

namespace wt::test::stages_checksums_test {
namespace {

const needs_eal eal(96);

constexpr uint64_t udp_alone = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM,
                   udp_and_ip = udp_alone | RTE_MBUF_F_TX_IP_CKSUM;
constexpr uint64_t good = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;

byte_vector bytes_of(rte_mbuf *m) {
    const auto *bytes = rte_pktmbuf_mtod(m, const uint8_t *);
    return {bytes, bytes + m->data_len};
}

// Takes what an endpoint was sent off the wire and does what a port would have done; fails where it has not
// got what DPDK asks for.
std::vector<byte_vector> completed_by_port(rig &r, size_t to, uint64_t flags) {
    std::vector<byte_vector> frames;
    rte_mbuf *m;
    while (rte_eth_rx_burst(r.f.endpoints[to].port->id, 0, &m, 1) == 1) {
        EXPECT_EQ(m->ol_flags & (RTE_MBUF_F_TX_OFFLOAD_MASK), flags);
        EXPECT_EQ(m->l2_len, 14);
        EXPECT_EQ(m->l3_len, 20);
        EXPECT_EQ(m->packet_type, static_cast<uint32_t>(RTE_PTYPE_L4_NONFRAG)) << "what net_ena prepares";
        byte_vector frame = bytes_of(m);
        EXPECT_NE(slow_udp_sum(frame), 0xffffu) << "nobody has summed the payload";
        EXPECT_EQ(rte_net_intel_cksum_prepare(m), 0);
        EXPECT_EQ(bytes_of(m), frame) << "what drivers prepare is there already";
        complete_checksums(frame.data(), m->ol_flags);
        EXPECT_EQ(slow_udp_sum(frame), 0xffffu);
        EXPECT_EQ(slow_ip_sum(frame), 0xffffu);
        EXPECT_NE(big16(frame, 40), 0u) << "0 would say that there is none";
        frames.push_back(frame);
        rte_pktmbuf_free(m);
    }
    return frames;
}

TEST(checksums, a_port_that_computes_them_gets_what_dpdk_asks_for) {
    for (const uint64_t flags : {udp_alone, udp_and_ip})
        for (const char *mbuf : {"request", "new"}) {
            json plan = rig_plan();
            plan["endpoints"][1]["response_mbuf"] = mbuf;
            plan["workloads"][0].update({{"request_bytes", 17}, {"response_bytes", 16}});  // padded frames
            rig r(plan, [&](port &p) { p.tx_checksums = flags; });
            for (const auto kind : {app_tx, disp_tx, nic_tx}) r.run(client, kind);
            const auto requests = completed_by_port(r, server, flags);
            ASSERT_EQ(requests.size(), 32u);
            r.deliver(server, requests);
            r.loop(server);
            const auto responses = completed_by_port(r, client, flags);
            ASSERT_EQ(responses.size(), 32u);
            r.deliver(client, responses);
            r.loop(client);
            EXPECT_EQ(r.stats(client, app_rx).responses, 32u);
            EXPECT_TRUE(r.drops(client).empty() && r.drops(server).empty());
            completed_by_port(r, server, flags);
        }
}

TEST(checksums, what_an_mbuf_is_stays_in_its_flags) {
    rig r(rig_plan());
    rte_mbuf *m = rte_pktmbuf_alloc(r.f.pools[client]);
    const byte_vector frame = example_frame(counted(86));
    std::memcpy(rte_pktmbuf_append(m, static_cast<uint16_t>(frame.size())), frame.data(), frame.size());
    m->ol_flags = good;
    leave_checksums_to_port(m, udp_and_ip);
    EXPECT_EQ(m->ol_flags, good | udp_and_ip);
    byte_vector sent = bytes_of(m);
    complete_checksums(sent.data(), m->ol_flags);
    EXPECT_EQ(sent, frame);
    complete_checksums(sent.data(), 0);
    EXPECT_EQ(sent, frame) << "of other frames nothing is changed";
    rte_pktmbuf_free(m);
}

// A server whose port checks what it receives.
struct checking {
    rig r;
    uint32_t slot = 0;
    explicit checking(bool checks = true) : r(rig_plan(), [&](port &p) { p.checks_received = checks; }) {}
    ~checking() { r.taken_off(client); }

    // What becomes of a request whose UDP or IPv4 checksum is as told, with the port's flags.
    counts dropped_for(uint64_t flags, bool udp_holds, bool ip_holds) {
        const counts before = r.drops(server);
        byte_vector frame = r.request(slot, 1);
        slot++;
        if (!udp_holds) frame[40] ^= 0x10;
        if (!ip_holds) frame[24] ^= 0x10;
        rte_mbuf *m = rte_pktmbuf_alloc(r.f.pools[client]);
        std::memcpy(rte_pktmbuf_append(m, static_cast<uint16_t>(frame.size())), frame.data(), frame.size());
        m->ol_flags = flags;
        EXPECT_EQ(rte_eth_tx_burst(r.f.endpoints[client].port->id, 0, &m, 1), 1);
        r.loop(server);
        counts now = r.drops(server);
        for (const auto &[name, count] : before) now[name] -= count;
        std::erase_if(now, [](const auto &entry) { return entry.second == 0; });
        return now;
    }
};

TEST(checksums, what_the_port_has_checked_is_not_checked_again) {
    checking c;
    EXPECT_EQ(c.dropped_for(good, true, true), counts{});
    EXPECT_EQ(c.dropped_for(good, false, false), counts{}) << "this port lies, to show who has looked";
    EXPECT_EQ(c.dropped_for(RTE_MBUF_F_RX_L4_CKSUM_GOOD, false, true), counts{}) << "IPv4's is ours";
    EXPECT_EQ(c.dropped_for(RTE_MBUF_F_RX_L4_CKSUM_GOOD, true, false), (counts{{"bad_ip_checksum", 1}}));
}

TEST(checksums, no_checksum_but_undamaged_data_is_good) {
    checking c;
    const uint64_t none = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_NONE;
    EXPECT_EQ(c.dropped_for(none, false, true), counts{});
}

TEST(checksums, what_the_port_calls_bad_is_dropped_by_our_names) {
    checking c;
    const uint64_t bad_udp = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_BAD,
                   bad_ip = RTE_MBUF_F_RX_IP_CKSUM_BAD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    EXPECT_EQ(c.dropped_for(bad_udp, false, true), (counts{{"bad_udp_checksum", 1}}));
    EXPECT_EQ(c.dropped_for(bad_ip, true, false), (counts{{"bad_ip_checksum", 1}}));
    EXPECT_EQ(c.dropped_for(bad_udp, true, true), counts{})
        << "NICs call a UDP checksum of 0 bad: ours decides";
}

TEST(checksums, what_the_port_does_not_know_is_checked) {
    checking c;
    EXPECT_EQ(c.dropped_for(0, true, true), counts{});
    EXPECT_EQ(c.dropped_for(0, false, true), (counts{{"bad_udp_checksum", 1}}));
    EXPECT_EQ(c.dropped_for(0, true, false), (counts{{"bad_ip_checksum", 1}}));
}

TEST(checksums, flags_of_a_port_that_was_not_asked_mean_nothing) {
    checking c(false);
    EXPECT_EQ(c.dropped_for(good, true, true), counts{});
    EXPECT_EQ(c.dropped_for(good, false, true), (counts{{"bad_udp_checksum", 1}}));
}

TEST(checksums, a_recording_has_what_the_port_adds) {
    rig r(rig_plan());
    const temporary_directory directory;
    const std::string path = directory / "run.pcap";
    recorder *recorder = recorder_open(path, false, 1, SOCKET_ID_ANY);
    const byte_vector small = example_frame(counted(86)), large = example_frame(counted(4000));
    for (const byte_vector &frame : {small, large}) {  // the large one is several mbufs of the recording
        rte_mbuf *m = rte_pktmbuf_alloc(r.f.pools[client]);
        byte_vector sent = frame;
        std::memcpy(rte_pktmbuf_append(m, 42), frame.data(), 42);
        leave_checksums_to_port(m, udp_and_ip);
        std::memcpy(sent.data(), frame_of(m), 42);
        rte_pktmbuf_reset(m);
        m->ol_flags = udp_and_ip;
        rte_mbuf *last = m;
        for (size_t at = 0; at < sent.size();) {
            if (rte_pktmbuf_tailroom(last) == 0) {
                rte_mbuf *more = rte_pktmbuf_alloc(r.f.pools[client]);
                ASSERT_EQ(rte_pktmbuf_chain(m, more), 0);
                last = more;
            }
            const auto part =
                static_cast<uint16_t>(std::min<size_t>(sent.size() - at, rte_pktmbuf_tailroom(last)));
            std::memcpy(rte_pktmbuf_mtod_offset(last, uint8_t *, last->data_len), sent.data() + at, part);
            last->data_len = static_cast<uint16_t>(last->data_len + part);
            m->pkt_len += part;
            at += part;
        }
        recorder_take(recorder, &m, 1, rte_rdtsc(), direction::sent);
        rte_pktmbuf_free(m);
    }
    EXPECT_EQ(recorder_close(recorder).sent, 2u);
    char why[PCAP_ERRBUF_SIZE];
    pcap_t *back = pcap_open_offline(path.c_str(), why);
    ASSERT_NE(back, nullptr) << why;
    for (const byte_vector &frame : {small, large}) {
        pcap_pkthdr *header;
        const u_char *bytes;
        ASSERT_EQ(pcap_next_ex(back, &header, &bytes), 1);
        EXPECT_EQ(byte_vector(bytes, bytes + header->caplen), frame);
    }
    pcap_close(back);
}

}  // namespace
}  // namespace wt::test::stages_checksums_test
