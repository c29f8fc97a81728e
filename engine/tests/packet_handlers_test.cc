// Packet handlers, on frames in exactly sized allocations.
#include <gtest/gtest.h>

#include "handler_tools.h"

namespace wt::test::packet_handlers_test {
namespace {

using given = std::map<std::string, std::string>;

struct handled {
    wt_verdict verdict;
    bytes frame;
};

std::vector<handled> handle(const char *name, const std::vector<bytes> &frames, const given &options = {}) {
    const opened_handler handler(handler_named(WT_PACKET_HANDLER, name), {}, options);
    std::vector<std::unique_ptr<uint8_t[]>> memory;
    std::vector<wt_packet> burst;
    for (const bytes &frame : frames) {
        memory.push_back(std::make_unique<uint8_t[]>(frame.size()));
        std::ranges::copy(frame, memory.back().get());
        burst.push_back({memory.back().get(), static_cast<uint32_t>(frame.size()), 128, WT_PASS});
    }
    handler.table().packet(handler.state(), burst.data(), static_cast<uint32_t>(burst.size()));
    std::vector<handled> all;
    for (const wt_packet &p : burst)
        all.push_back({static_cast<wt_verdict>(p.verdict), {p.data, p.data + p.length}});
    return all;
}

handled handle(const char *name, const bytes &frame) { return handle(name, std::vector<bytes>(1, frame))[0]; }

// A UDP datagram whose bytes are all different where it matters; `options` are words of IP options.
bytes datagram(uint8_t options = 0, uint8_t payload = 18) {
    bytes frame = {0x02, 1,   2, 3, 4,  5,  0x06, 7, 8,  9,  10, 11, 0x08, 0,  // MACs, IPv4
                   0x45, 0,   0, 0, 20, 21, 0x40, 0, 64, 17, 22, 23,  // length, id, DF, TTL, UDP, checksum
                   192,  168, 0, 1, 10, 0,  0,    2};
    frame[14] = static_cast<uint8_t>(0x45 + options);
    for (uint8_t i = 0; i < 4 * options; ++i) frame.push_back(static_cast<uint8_t>(0xe0 + i));
    const bytes udp = {0x30, 0x39, 0x1f, 0x90, 0, static_cast<uint8_t>(8 + payload), 0xab, 0xcd};
    frame.insert(frame.end(), udp.begin(), udp.end());
    for (uint8_t i = 0; i < payload; ++i) frame.push_back(i);
    frame[17] = static_cast<uint8_t>(frame.size() - 14);
    return frame;
}

// What a datagram looks like on its way back, byte by byte.
bytes turned(const bytes &frame, uint8_t options = 0) {
    bytes back = frame;
    const size_t udp = 34u + 4u * options;
    for (size_t i = 0; i < 6; ++i) std::swap(back[i], back[6 + i]);
    for (size_t i = 0; i < 4; ++i) std::swap(back[26 + i], back[30 + i]);
    for (size_t i = 0; i < 2; ++i) std::swap(back[udp + i], back[udp + 2 + i]);
    return back;
}

TEST(echo, sends_datagrams_back) {
    for (const uint8_t payload : {0, 1, 18, 200}) {
        const bytes frame = datagram(0, payload);
        const auto [verdict, back] = handle("echo", frame);
        EXPECT_EQ(verdict, WT_FORWARD);
        EXPECT_EQ(back, turned(frame));
    }
}

// The same of IPv6.
bytes ipv6_datagram(uint8_t payload = 18) {
    bytes frame = {0x02, 1,    2, 3, 4,  5,
                   0x06, 7,    8, 9, 10, 11,
                   0x86, 0xdd,  // MACs, IPv6
                   0x60, 0,    0, 0, 0,  static_cast<uint8_t>(8 + payload),
                   17,   64};
    for (uint8_t i = 0; i < 32; ++i) frame.push_back(static_cast<uint8_t>(0xa0 + i));
    const bytes udp = {0x30, 0x39, 0x1f, 0x90, 0, static_cast<uint8_t>(8 + payload), 0xab, 0xcd};
    frame.insert(frame.end(), udp.begin(), udp.end());
    for (uint8_t i = 0; i < payload; ++i) frame.push_back(i);
    return frame;
}

TEST(echo, sends_datagrams_of_ipv6_back) {
    for (const uint8_t payload : {0, 1, 18, 200}) {
        const bytes frame = ipv6_datagram(payload);
        bytes expected = frame;
        for (size_t i = 0; i < 6; ++i) std::swap(expected[i], expected[6 + i]);
        for (size_t i = 0; i < 16; ++i) std::swap(expected[22 + i], expected[38 + i]);
        for (size_t i = 0; i < 2; ++i) std::swap(expected[54 + i], expected[56 + i]);
        const auto [verdict, back] = handle("echo", frame);
        EXPECT_EQ(verdict, WT_FORWARD);
        EXPECT_EQ(back, expected);
    }
}

TEST(echo, passes_what_is_no_datagram_of_ipv6) {
    const std::vector<std::pair<size_t, uint8_t>> changes = {{0, 0x33}, {12, 0x08}, {14, 0x40}, {19, 7},
                                                             {19, 27},  {20, 0},    {20, 44},   {20, 58}};
    for (const auto &[at, value] : changes) {
        bytes frame = ipv6_datagram();
        frame[at] = value;
        const auto [verdict, back] = handle("echo", frame);
        EXPECT_EQ(verdict, WT_PASS) << "byte " << at << " is " << +value;
        EXPECT_EQ(back, frame);
    }
}

TEST(echo, finds_the_ports_behind_ip_options) {
    for (uint8_t options = 1; options <= 10; ++options) {
        const bytes frame = datagram(options);
        const auto [verdict, back] = handle("echo", frame);
        EXPECT_EQ(verdict, WT_FORWARD);
        EXPECT_EQ(back, turned(frame, options));
    }
}

TEST(echo, keeps_padding) {
    bytes frame = datagram(0, 0);
    frame.resize(60, 0x77);
    EXPECT_EQ(handle("echo", frame).frame, turned(frame));
}

TEST(echo, passes_other_frames_unchanged) {
    const auto changed = [](size_t at, uint8_t value, uint8_t options = 0) {
        bytes frame = datagram(options);
        frame[at] = value;
        return frame;
    };
    bytes without_ports = datagram(1, 0);
    without_ports.resize(42);
    without_ports[17] = 28;
    const std::pair<const char *, bytes> others[] = {
        {"ARP", changed(13, 0x06)},
        {"VLAN", changed(12, 0x81)},
        {"IPv6", changed(14, 0x65)},
        {"a header shorter than a header", changed(14, 0x44)},
        {"options up to the end", changed(14, 0x4f)},
        {"options that push the ports out", without_ports},
        {"ICMP", changed(23, 1)},
        {"TCP", changed(23, 6)},
        {"the first fragment", changed(20, 0x20)},
        {"a later fragment", changed(21, 1)},
        {"broadcast", changed(0, 0xff)},
        {"multicast", changed(0, 0x01)},
        {"longer than its frame", changed(17, 47)},
    };
    for (const auto &[what, frame] : others) {
        const auto [verdict, after] = handle("echo", frame);
        EXPECT_EQ(verdict, WT_PASS) << what;
        EXPECT_EQ(after, frame) << what;
    }
}

TEST(echo, reads_no_byte_past_a_truncation) {
    const bytes whole = datagram(3);
    for (size_t length = 0; length < whole.size(); ++length) {
        const bytes frame(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
        const auto [verdict, after] = handle("echo", frame);
        EXPECT_EQ(verdict, WT_PASS);
        EXPECT_EQ(after, frame);
    }
}

TEST(l2fwd, swaps_the_addresses_of_any_frame) {
    std::mt19937 random(1);
    for (int round = 0; round < 2000; ++round) {
        std::vector<bytes> frames(random() % 40);
        for (bytes &frame : frames)
            frame = random_bytes(random() % 10 ? 60 + random() % 40 : random() % 24, random);
        const auto after = handle("l2fwd", frames);
        for (size_t i = 0; i < frames.size(); ++i) {
            bytes expected = frames[i];
            if (expected.size() < 14) {
                ASSERT_EQ(after[i].verdict, WT_PASS) << "the parser has a name for it";
            } else {
                ASSERT_EQ(after[i].verdict, WT_FORWARD);
                std::swap_ranges(expected.begin(), expected.begin() + 6, expected.begin() + 6);
            }
            ASSERT_EQ(after[i].frame, expected);
        }
    }
}

TEST(drop, drops) {
    for (const auto &[verdict, frame] : handle("drop", {datagram(), bytes(), bytes(60, 0xff)}))
        EXPECT_EQ(verdict, WT_DROP);
}

// Of the smallest of some calls: the host interrupts others.
uint64_t ticks_of_work(const given &options, size_t count) {
    const opened_handler handler(handler_named(WT_PACKET_HANDLER, "work"), {}, options);
    bytes frame(60);
    uint64_t least = UINT64_MAX;
    for (int call = 0; call < 50; ++call) {
        std::vector<wt_packet> burst(count, {frame.data(), 60, 128, WT_PASS});
        const uint64_t begin = wt_ticks();
        handler.table().packet(handler.state(), burst.data(), static_cast<uint32_t>(burst.size()));
        least = std::min(least, wt_ticks() - begin);
    }
    return least;
}

TEST(work, never_takes_less_than_its_time) {
    EXPECT_GE(ticks_of_work({{"burst_ticks", "3000"}, {"packet_ticks", "700"}}, 10), 10000u);
    EXPECT_GE(ticks_of_work({{"burst_ticks", "5000"}}, 0), 5000u);
    EXPECT_GE(ticks_of_work({{"packet_ticks", "1000"}}, 32), 32000u);
}

TEST(work, sends_any_frame_back_and_reads_no_byte_past_its_end) {
    for (size_t length : {0u, 1u, 63u, 64u, 65u, 1500u}) {
        const auto after = handle("work", {bytes(length, 7)}, {{"touch", "9000"}});
        EXPECT_EQ(after[0].verdict, WT_FORWARD);
        EXPECT_EQ(after[0].frame, bytes(length, 7));
    }
}

TEST(empty_packet, passes_frames_unchanged) {
    const auto [verdict, frame] = handle("empty", datagram());
    EXPECT_EQ(verdict, WT_PASS);
    EXPECT_EQ(frame, datagram());
}

}  // namespace
}  // namespace wt::test::packet_handlers_test
