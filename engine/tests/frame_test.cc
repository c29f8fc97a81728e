#include "core/frame.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string_view>

#include "core/plain_frame.h"
#include "tests/frame_tools.h"

namespace wt::test::frame_test {
namespace {

struct outcome {
    parse_result result;
    drop why;
    parsed_frame frame;
};

uint32_t plain_bytes_behind(const byte_vector &frame, const local_address &us, known_headers &kept) {
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[frame.size()]);
    std::copy(frame.begin(), frame.end(), exact.get());
    return plain_payload_bytes(exact.get(), static_cast<uint32_t>(frame.size()), plain_match_of(us), 1, kept);
}

// The same whether a frame is the first one, follows itself, or follows another.
uint32_t plain_bytes(const byte_vector &frame, const local_address &us) {
    known_headers own, of_another;
    plain_bytes_behind(example_frame(counted(22)), us, of_another);
    const uint32_t first = plain_bytes_behind(frame, us, own);
    EXPECT_EQ(plain_bytes_behind(frame, us, own), first);
    EXPECT_EQ(plain_bytes_behind(frame, us, of_another), first);
    return first;
}

// Parses a copy that ends where the frame ends, so that AddressSanitizer sees a byte too many.
outcome parse(const byte_vector &frame, const local_address &us = example_us) {
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[frame.size()]);
    std::copy(frame.begin(), frame.end(), exact.get());
    outcome o{parse_result::udp, drop::count, {0, 0}};
    o.result = frame_parse(exact.get(), static_cast<uint32_t>(frame.size()), us, &o.frame, &o.why);
    // what is plain is right, in every test of this file
    if (const uint32_t plain = plain_bytes(frame, us); plain > 0) {
        EXPECT_EQ(o.result, parse_result::udp);
        EXPECT_EQ(o.frame.payload_offset, frame_header_bytes);
        EXPECT_EQ(o.frame.payload_bytes, plain);
    }
    return o;
}

std::string_view dropped_for(const byte_vector &frame, const local_address &us = example_us) {
    const outcome o = parse(frame, us);
    if (o.result == parse_result::dropped) return drop_names[static_cast<uint32_t>(o.why)];
    return o.result == parse_result::udp ? "udp" : "control";
}

TEST(FrameWrite, GivesTheBytesOfAFrameComputedElsewhere) {
    constexpr std::string_view text = "windtunnel, 25 bytes odd!";
    const byte_vector payload(text.begin(), text.end());
    const byte_vector header = {0x10, 0x70, 0xfd, 0x6b, 0x93, 0x5c, 0x10, 0x70, 0xfd, 0x87, 0x0e,
                                0xba, 0x08, 0x00, 0x45, 0x00, 0x00, 0x35, 0x00, 0x00, 0x40, 0x00,
                                0x40, 0x11, 0x21, 0xee, 0x0a, 0x00, 0x02, 0x66, 0x0a, 0x00, 0x02,
                                0x65, 0x27, 0x1a, 0x4e, 0x35, 0x00, 0x21, 0x40, 0x01};
    const byte_vector frame = example_frame(payload);
    EXPECT_EQ(byte_vector(frame.begin(), frame.begin() + frame_header_bytes), header);
}

TEST(FrameWrite, EveryLengthHasValidChecksumsAndParses) {
    std::mt19937 random(1);
    for (uint32_t bytes = 0; bytes <= 1472; bytes++) {
        byte_vector payload(bytes);
        for (uint8_t &b : payload) b = static_cast<uint8_t>(random());
        const byte_vector frame = example_frame(payload);
        ASSERT_EQ(slow_ip_sum(frame), 0xffffu) << bytes;
        ASSERT_EQ(slow_udp_sum(frame), 0xffffu) << bytes;
        const outcome o = parse(frame);
        ASSERT_EQ(o.result, parse_result::udp) << bytes;
        ASSERT_EQ(o.frame.payload_offset, frame_header_bytes);
        ASSERT_EQ(o.frame.payload_bytes, bytes);
        ASSERT_EQ(plain_bytes(frame, example_us), bytes) << "the common case must be plain";
    }
}

TEST(FrameWrite, TheLargestDatagramFits) {
    const byte_vector frame = example_frame(counted(65535 - ip_udp_header_bytes));
    EXPECT_EQ(slow_udp_sum(frame), 0xffffu);
    EXPECT_EQ(parse(frame).frame.payload_bytes, 65535 - ip_udp_header_bytes);
}

// A payload whose sum makes the checksum come out as 0, which on the wire would mean "none" (RFC 768).
byte_vector payload_with_checksum_zero() {
    byte_vector payload = {0, 0};
    const byte_vector frame = example_frame(payload);
    const uint32_t field = big16(frame, 40);
    put_big16(payload, 0, field);
    return payload;
}

TEST(FrameWrite, AChecksumOfZeroIsSentAsAllOnes) {
    const byte_vector frame = example_frame(payload_with_checksum_zero());
    EXPECT_EQ(big16(frame, 40), 0xffffu);
    EXPECT_EQ(slow_udp_sum(frame), 0xffffu);
    EXPECT_EQ(dropped_for(frame), "udp");
}

TEST(FrameWrite, WithoutAChecksumOtherBytesAreTheSame) {
    for (const uint32_t bytes : {1u, 22u, 86u, 1472u}) {
        byte_vector expected = example_frame(counted(bytes)), frame = expected;
        std::fill_n(frame.begin(), frame_header_bytes, 0xee);
        frame_template t = frame_prepare(example_flow);
        frame_write<udp_checksum::none>(frame.data(), t, bytes);
        put_big16(expected, 40, 0);
        EXPECT_EQ(frame, expected) << bytes;
        EXPECT_EQ(dropped_for(frame), "udp") << bytes;
        EXPECT_EQ(plain_bytes(frame, example_us), bytes);
    }
}

TEST(FrameTurn, WithoutAChecksumOtherBytesAreTheSame) {
    byte_vector expected = example_frame(counted(86)), frame = expected;
    frame_turn(expected.data(), 86);
    frame_turn<udp_checksum::none>(frame.data(), 86);
    put_big16(expected, 40, 0);
    EXPECT_EQ(frame, expected);
}

TEST(FrameTurn, SwapsTheFlowAndKeepsThePayload) {
    byte_vector frame = example_frame(counted(86));
    frame[15] = 0x2e;              // a type of service
    put_big16(frame, 18, 0xbeef);  // an identification
    frame[22] = 3;                 // hops left
    mend_ip_checksum(frame);
    frame_turn(frame.data(), 86);

    const flow &f = example_flow;
    const flow back = {f.destination_mac, f.source_mac,       f.destination_ip,
                       f.source_ip,       f.destination_port, f.source_port};
    byte_vector expected(frame_header_bytes);
    const byte_vector payload = counted(86);
    expected.insert(expected.end(), payload.begin(), payload.end());
    frame_template there = frame_prepare(back);
    frame_write(expected.data(), there, 86);
    EXPECT_EQ(frame, expected);
}

TEST(FrameTurn, AResponseOfAnyLengthHasValidChecksumsAndReachesTheSender) {
    const local_address sender = {example_flow.source_mac, example_flow.source_ip, example_flow.source_port,
                                  1, 0};
    for (uint32_t bytes = 0; bytes <= 1472; bytes++) {
        byte_vector frame = example_frame(counted(1472));
        put_big16(frame, 40, 0);  // a request without a checksum gets a response with one
        frame_turn(frame.data(), bytes);
        frame.resize(frame_header_bytes + bytes);
        ASSERT_EQ(slow_ip_sum(frame), 0xffffu) << bytes;
        ASSERT_NE(big16(frame, 40), 0u) << bytes;
        ASSERT_EQ(slow_udp_sum(frame), 0xffffu) << bytes;
        ASSERT_EQ(dropped_for(frame, sender), "udp") << bytes;
    }
}

TEST(FrameTurn, AChecksumOfZeroIsSentAsAllOnes) {
    byte_vector frame = example_frame(payload_with_checksum_zero());
    frame_turn(frame.data(), 2);
    EXPECT_EQ(big16(frame, 40), 0xffffu);
}

TEST(FrameCutOptions, LeavesTheFrameWithoutOptions) {
    const byte_vector plain = example_frame(counted(33));
    for (uint32_t words = 0; words <= 10; words++) {
        byte_vector frame = words == 0 ? plain : with_options(plain, words);
        const outcome o = parse(frame);
        ASSERT_EQ(o.result, parse_result::udp) << words;
        frame_cut_options(frame.data(), o.frame);
        frame_turn(frame.data(), 33);
        frame.resize(plain.size());
        byte_vector expected = plain;
        frame_turn(expected.data(), 33);
        EXPECT_EQ(frame, expected) << words;
    }
}

TEST(FrameWrite, OneTemplateServesEveryLengthInAnyOrder) {
    frame_template t = frame_prepare(example_flow);
    for (const uint32_t bytes : {86u, 86u, 1472u, 0u, 22u, 86u}) {
        byte_vector frame(frame_header_bytes);
        const byte_vector payload = counted(bytes);
        frame.insert(frame.end(), payload.begin(), payload.end());
        frame_write(frame.data(), t, bytes);
        EXPECT_EQ(frame, example_frame(payload)) << bytes;
        EXPECT_EQ(slow_ip_sum(frame), 0xffffu) << bytes;
        EXPECT_EQ(slow_udp_sum(frame), 0xffffu) << bytes;
    }
}

TEST(FrameParse, EveryTruncationIsARunt) {
    const byte_vector frame = with_options(example_frame(counted(22)), 2);
    for (size_t bytes = 0; bytes < frame.size(); bytes++)
        ASSERT_EQ(dropped_for({frame.begin(), frame.begin() + static_cast<ptrdiff_t>(bytes)}), "runt")
            << bytes;
}

TEST(FrameParse, PaddingIsNotPayload) {
    byte_vector frame = example_frame(counted(5));
    frame.resize(frame_min_bytes, 0xee);
    const outcome o = parse(frame);
    EXPECT_EQ(o.result, parse_result::udp);
    EXPECT_EQ(o.frame.payload_bytes, 5u);
}

TEST(FrameParse, OptionsAreSkipped) {
    for (uint32_t words = 1; words <= 10; words++) {
        const outcome o = parse(with_options(example_frame(counted(40)), words));
        EXPECT_EQ(o.result, parse_result::udp);
        EXPECT_EQ(o.frame.payload_offset, frame_header_bytes + words * 4);
        EXPECT_EQ(o.frame.payload_bytes, 40u);
    }
}

TEST(FrameParse, AUdpChecksumOfZeroMeansNoChecksum) {
    byte_vector frame = example_frame(counted(22));
    put_big16(frame, 40, 0);
    frame.back() ^= 1;
    EXPECT_EQ(dropped_for(frame), "udp");
}

TEST(FrameParse, EveryFlippedBitIsDetected) {
    const byte_vector good = with_options(example_frame(counted(23)), 1);
    constexpr size_t first = 12;  // the source MAC address before it is under no checksum
    for (size_t bit = first * 8; bit < good.size() * 8; bit++) {
        byte_vector frame = good;
        frame[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
        ASSERT_EQ(parse(frame).result, parse_result::dropped) << "bit " << bit;
    }
}

TEST(FrameParse, EtherTypes) {
    byte_vector frame = example_frame(counted(22));
    put_big16(frame, 12, 0x86dd);
    EXPECT_EQ(dropped_for(frame), "not_ipv4");
    put_big16(frame, 12, 0x8100);
    EXPECT_EQ(dropped_for(frame), "tagged");
    put_big16(frame, 16, 0x88a8);
    EXPECT_EQ(dropped_for(frame), "double_tagged");
    EXPECT_EQ(dropped_for(byte_vector(frame.begin(), frame.begin() + 17)), "tagged")
        << "cut behind the first";
    put_big16(frame, 12, 0x0806);
    EXPECT_EQ(dropped_for(frame), "control");
    std::fill_n(frame.begin(), 6, uint8_t{0xff});
    EXPECT_EQ(dropped_for(frame), "control") << "ARP asks everybody";
    frame[0] = 0x02;
    EXPECT_EQ(dropped_for(frame), "not_for_us");
}

TEST(FrameParse, OnlyOurAddresses) {
    const byte_vector good = example_frame(counted(22));
    for (size_t byte = 0; byte < 6; byte++) {
        byte_vector frame = good;
        frame[byte] ^= 1;
        EXPECT_EQ(dropped_for(frame), "not_for_us") << byte;
    }
    byte_vector frame = good;
    std::fill_n(frame.begin(), 6, uint8_t{0xff});
    EXPECT_EQ(dropped_for(frame), "not_for_us") << "a broadcast must not carry a unicast packet";
    for (size_t byte = 30; byte < 34; byte++) {
        frame = good;
        frame[byte] ^= 1;
        mend_ip_checksum(frame);
        EXPECT_EQ(dropped_for(frame), "not_for_us") << byte;
    }
}

TEST(FrameParse, InvalidIpHeaders) {
    const byte_vector good = example_frame(counted(22));
    byte_vector frame = good;
    frame[14] = 0x65;
    EXPECT_EQ(dropped_for(frame), "bad_ip_header") << "version 6";
    frame[14] = 0x44;
    EXPECT_EQ(dropped_for(frame), "bad_ip_header") << "16 bytes of header";
    frame[14] = 0x40;
    EXPECT_EQ(dropped_for(frame), "bad_ip_header") << "no header";
    frame = good;
    put_big16(frame, 16, 19);
    EXPECT_EQ(dropped_for(frame), "bad_ip_header") << "shorter than its header";
    put_big16(frame, 16, 65535);
    EXPECT_EQ(dropped_for(frame), "runt") << "longer than the frame";
    frame = good;
    put_big16(frame, 24, big16(frame, 24) ^ 0x0100);
    EXPECT_EQ(dropped_for(frame), "bad_ip_checksum");
}

TEST(FrameParse, Fragments) {
    for (const uint32_t word : {0x2000u, 0x0001u, 0x1fffu, 0x6000u}) {
        byte_vector frame = example_frame(counted(22));
        put_big16(frame, 20, word);
        mend_ip_checksum(frame);
        EXPECT_EQ(dropped_for(frame), "ip_fragment") << word;
    }
    byte_vector frame = example_frame(counted(22));
    put_big16(frame, 20, 0);
    mend_ip_checksum(frame);
    EXPECT_EQ(dropped_for(frame), "udp") << "may be fragmented, is not";
}

TEST(FrameParse, Protocols) {
    byte_vector frame = example_frame(counted(22));
    frame[23] = 6;
    mend_ip_checksum(frame);
    EXPECT_EQ(dropped_for(frame), "not_udp");
    frame[23] = 1;
    mend_ip_checksum(frame);
    EXPECT_EQ(dropped_for(frame), "control");
}

TEST(FrameParse, UdpLengths) {
    const byte_vector good = example_frame(counted(22));
    for (const uint32_t length : {0u, 7u, 31u, 65535u}) {
        byte_vector frame = good;
        put_big16(frame, 38, length);
        EXPECT_EQ(dropped_for(frame), "bad_udp_length") << length;
    }
    byte_vector frame = good;
    put_big16(frame, 16, 27);
    mend_ip_checksum(frame);
    EXPECT_EQ(dropped_for(frame), "bad_udp_length") << "no room for a UDP header";
    frame = good;
    put_big16(frame, 38, 8 + 21);
    mend_udp_checksum(frame);
    EXPECT_EQ(parse(frame).frame.payload_bytes, 21u) << "what UDP does not count is not payload";
}

TEST(FrameParse, UdpChecksum) {
    byte_vector frame = example_frame(counted(22));
    frame.back() ^= 1;
    EXPECT_EQ(dropped_for(frame), "bad_udp_checksum");
}

TEST(PlainFrame, KnownSumsAreNotChecked) {
    const auto bytes_with = []<known_sums known>(byte_vector frame) {
        return plain_payload_bytes<known>(frame.data(), static_cast<uint32_t>(frame.size()),
                                          plain_match_of(example_us), 1);
    };
    byte_vector bad_udp = example_frame(counted(22)), bad_ip = bad_udp, bad_length = bad_udp;
    bad_udp.back() ^= 1;
    bad_ip[25] ^= 1;
    bad_length[39] ^= 1;
    EXPECT_EQ(bytes_with.operator()<known_sums::none>(bad_udp), 0u);
    EXPECT_EQ(bytes_with.operator()<known_sums::udp>(bad_udp), 22u);
    EXPECT_EQ(bytes_with.operator()<known_sums::both>(bad_udp), 22u);
    EXPECT_EQ(bytes_with.operator()<known_sums::none>(bad_ip), 0u);
    EXPECT_EQ(bytes_with.operator()<known_sums::udp>(bad_ip), 0u);
    EXPECT_EQ(bytes_with.operator()<known_sums::both>(bad_ip), 22u);
    EXPECT_EQ(bytes_with.operator()<known_sums::both>(bad_length), 0u) << "what is no sum is looked at";
}

TEST(PlainFrame, AHeaderThatDiffersInABitIsLookedAtAnew) {
    known_headers kept;
    const byte_vector frame = example_frame(counted(22));
    ASSERT_EQ(plain_bytes_behind(frame, example_us, kept), 22u);
    const known_headers of_frame = kept;
    for (uint32_t bit = 0; bit < 8 * frame.size(); bit++) {
        byte_vector other = frame;
        other[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        known_headers behind_frame = of_frame, none;
        EXPECT_EQ(plain_bytes_behind(other, example_us, behind_frame),
                  plain_bytes_behind(other, example_us, none))
            << "bit " << bit;
    }
    EXPECT_EQ(plain_bytes_behind(byte_vector(frame.begin(), frame.end() - 1), example_us, kept), 0u)
        << "cut off";
}

TEST(PlainFrame, OneOfManyHeadersIsKept) {
    known_headers kept;
    const byte_vector frame = example_frame(counted(22)), other = example_frame(counted(23));
    for (uint32_t n = 0; n < 64; n++)
        EXPECT_EQ(plain_bytes_behind(n ? other : frame, example_us, kept), n ? 23u : 22u);
    EXPECT_EQ(kept.payload_bytes, 22u);
    plain_bytes_behind(other, example_us, kept);
    EXPECT_EQ(kept.payload_bytes, 23u);
}

TEST(PlainFrame, AByteBehindTheFrameIsNoPayload) {
    for (const uint32_t missing : {1u, 2u, 28u, 29u, 60u}) {
        byte_vector frame = example_frame(counted(22));
        put_big16(frame, 16, 28 + 22 + missing);
        put_big16(frame, 38, 8 + 22 + missing);
        EXPECT_EQ(plain_payload_bytes<known_sums::both>(frame.data(), static_cast<uint32_t>(frame.size()),
                                                        plain_match_of(example_us), 1),
                  0u)
            << missing;
    }
}

TEST(FrameParse, Ports) {
    const auto to_port = [](uint16_t port) {
        flow f = example_flow;
        f.destination_port = port;
        byte_vector frame(frame_header_bytes + 22);
        frame_template t = frame_prepare(f);
        frame_write(frame.data(), t, 22);
        return frame;
    };
    EXPECT_EQ(dropped_for(to_port(20021)), "udp");
    EXPECT_EQ(dropped_for(to_port(20020)), "misdirected");
    EXPECT_EQ(dropped_for(to_port(20023)), "misdirected");
    EXPECT_EQ(dropped_for(to_port(20024)), "unknown_port");
    EXPECT_EQ(dropped_for(to_port(20019)), "unknown_port");
    EXPECT_EQ(dropped_for(to_port(0)), "unknown_port");
}

TEST(Drops, HaveDistinctNames) {
    for (uint32_t i = 0; i < drop_reasons; i++)
        for (uint32_t j = 0; j < i; j++) EXPECT_STRNE(drop_names[i], drop_names[j]);
}

}  // namespace
}  // namespace wt::test::frame_test
