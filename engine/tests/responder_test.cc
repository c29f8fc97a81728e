#include "control/responder.h"

#include <gtest/gtest.h>

#include <string_view>

#include "core/frame.h"
#include "tests/frame_tools.h"

namespace wt::test::responder_test {
namespace {

constexpr mac_address asker_mac = example_flow.source_mac;
constexpr uint32_t asker_ip = example_flow.source_ip;
constexpr local_address asker = {asker_mac, asker_ip, example_flow.source_port, 1, 0};

// Parses and responses in place; the frame becomes the reply. Empty: there is none, *why says why.
byte_vector reply_to(byte_vector frame, drop *why) {
    parsed_frame parsed;
    const auto bytes = static_cast<uint32_t>(frame.size());
    EXPECT_EQ(frame_parse(frame.data(), bytes, example_us, &parsed, why), parse_result::control);
    frame.resize(respond(frame.data(), bytes, example_us, why));
    return frame;
}

std::string_view dropped_for(const byte_vector &frame) {
    drop why = drop::count;
    return reply_to(frame, &why).empty() ? drop_names[static_cast<uint32_t>(why)] : "responses";
}

byte_vector arp_request(uint32_t ip = example_us.ip) {
    byte_vector frame(frame_min_bytes, 0xee);
    arp_request_write(frame.data(), asker_mac, asker_ip, ip);
    return frame;
}

TEST(Arp, RequestFollowsRfc826) {
    byte_vector expected = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0x70, 0xfd, 0x87, 0x0e,
                            0xba, 0x08, 0x06, 0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x01,
                            0x10, 0x70, 0xfd, 0x87, 0x0e, 0xba, 0x0a, 0x00, 0x02, 0x66, 0x00,
                            0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x02, 0x65};
    expected.resize(frame_min_bytes, 0);
    EXPECT_EQ(arp_request(), expected);
}

TEST(Arp, ARequestForUsGetsAReply) {
    drop why;
    const byte_vector expected = {0x10, 0x70, 0xfd, 0x87, 0x0e, 0xba, 0x10, 0x70, 0xfd, 0x6b, 0x93,
                                  0x5c, 0x08, 0x06, 0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x02,
                                  0x10, 0x70, 0xfd, 0x6b, 0x93, 0x5c, 0x0a, 0x00, 0x02, 0x65, 0x10,
                                  0x70, 0xfd, 0x87, 0x0e, 0xba, 0x0a, 0x00, 0x02, 0x66};
    EXPECT_EQ(reply_to(arp_request(), &why), expected);
}

TEST(Arp, TheSenderCanReadOurReply) {
    drop why;
    byte_vector reply = reply_to(arp_request(), &why);
    reply.resize(frame_min_bytes, 0);
    const auto bytes = static_cast<uint32_t>(reply.size());
    mac_address mac{};
    ASSERT_TRUE(arp_reply_read(reply.data(), bytes, example_us.ip, &mac));
    EXPECT_EQ(byte_vector(mac.bytes, mac.bytes + 6),
              byte_vector(example_us.mac.bytes, example_us.mac.bytes + 6));

    EXPECT_FALSE(arp_reply_read(reply.data(), bytes, example_us.ip + 1, &mac)) << "another's address";
    EXPECT_FALSE(arp_reply_read(reply.data(), 41, example_us.ip, &mac)) << "too short";
    EXPECT_FALSE(arp_reply_read(arp_request().data(), bytes, asker_ip, &mac)) << "a request";
    const byte_vector udp = example_frame(counted(40));
    EXPECT_FALSE(arp_reply_read(udp.data(), static_cast<uint32_t>(udp.size()), example_us.ip, &mac))
        << "not ARP";
    reply[22] |= 1;
    EXPECT_FALSE(arp_reply_read(reply.data(), bytes, example_us.ip, &mac)) << "a group address is no sender";
}

TEST(Arp, AProbeGetsAReply) {
    byte_vector probe = arp_request();  // RFC 5227: the sender has no address yet
    std::fill_n(probe.begin() + 28, 4, uint8_t{0});
    EXPECT_EQ(dropped_for(probe), "responses");
}

TEST(Arp, ADropHasAReason) {
    EXPECT_EQ(dropped_for(arp_request(example_us.ip + 2)), "arp_not_for_us");
    EXPECT_EQ(dropped_for(arp_request(asker_ip)), "arp_unasked") << "an announcement";

    byte_vector frame = arp_request();
    put_big16(frame, 20, 2);
    EXPECT_EQ(dropped_for(frame), "arp_unasked") << "a reply";
    put_big16(frame, 20, 3);
    EXPECT_EQ(dropped_for(frame), "bad_arp") << "reverse ARP";
    for (const size_t field : {14u, 16u, 18u, 19u}) {  // hardware, protocol, their lengths
        frame = arp_request();
        frame[field] ^= 0x10;
        EXPECT_EQ(dropped_for(frame), "bad_arp") << field;
    }
    frame = arp_request();
    frame[22] |= 1;
    EXPECT_EQ(dropped_for(frame), "bad_arp") << "a group asks";
    frame = arp_request();
    for (size_t bytes = 14; bytes < 42; bytes++) {
        frame.resize(bytes);
        EXPECT_EQ(dropped_for(frame), "runt") << bytes;
        frame = arp_request();
    }
}

TEST(Icmp, EchoRequestsOfEveryLengthGetAReply) {
    for (uint32_t bytes = 0; bytes <= 1472; bytes++) {
        const byte_vector request = example_echo_request(counted(bytes));
        drop why;
        const byte_vector reply = reply_to(request, &why);
        ASSERT_EQ(reply.size(), request.size());
        ASSERT_EQ(slow_ip_sum(reply), 0xffffu) << bytes;
        ASSERT_EQ(slow_sum(std::span(reply).subspan(34)), 0xffffu) << bytes;
        ASSERT_EQ(big16(reply, 34), 0u) << "an echo reply";
        ASSERT_EQ(byte_vector(reply.begin() + 38, reply.end()),
                  byte_vector(request.begin() + 38, request.end()));
        parsed_frame parsed;
        ASSERT_EQ(frame_parse(reply.data(), static_cast<uint32_t>(reply.size()), asker, &parsed, &why),
                  parse_result::control)
            << "it reaches the asker";
    }
}

TEST(Icmp, EveryIdentifierGetsAReply) {
    for (uint32_t id = 0; id <= 0xffff; id += 0x11) {
        byte_vector request = example_echo_request(counted(56));
        put_big16(request, 38, id);
        mend_icmp_checksum(request);
        drop why;
        const byte_vector reply = reply_to(request, &why);
        ASSERT_EQ(big16(reply, 38), id);
        ASSERT_EQ(slow_sum(std::span(reply).subspan(34)), 0xffffu) << id;
    }
}

TEST(Icmp, AReplyOfZerosHasAValidChecksum) {
    byte_vector request = example_echo_request(byte_vector(56, 0));
    std::fill_n(request.begin() + 38, 4, uint8_t{0});
    mend_icmp_checksum(request);
    drop why;
    const byte_vector reply = reply_to(request, &why);
    ASSERT_FALSE(reply.empty());
    EXPECT_EQ(big16(reply, 36), 0xffffu);
}

TEST(Icmp, PaddingIsCutOff) {
    byte_vector request = example_echo_request(counted(3));
    const size_t bytes = request.size();
    request.resize(frame_min_bytes, 0xee);
    drop why;
    EXPECT_EQ(reply_to(request, &why).size(), bytes);
}

TEST(Icmp, OptionsBecomeEndOfOptions) {
    const byte_vector request = with_options(example_echo_request(counted(56)), 10);
    drop why;
    const byte_vector reply = reply_to(request, &why);
    ASSERT_EQ(reply.size(), request.size());
    EXPECT_EQ(slow_ip_sum(reply), 0xffffu);
    EXPECT_EQ(byte_vector(reply.begin() + 34, reply.begin() + 74), byte_vector(40, 0));
    EXPECT_EQ(slow_sum(std::span(reply).subspan(74)), 0xffffu);
}

TEST(Icmp, ADropHasAReason) {
    const byte_vector good = example_echo_request(counted(56));
    ASSERT_EQ(dropped_for(good), "responses");
    for (size_t at = 34; at < good.size(); at++) {
        byte_vector frame = good;
        frame[at] ^= 0x40;
        ASSERT_EQ(dropped_for(frame), "bad_icmp") << "byte " << at;
    }
    byte_vector frame = good;
    frame[34] = 0;
    mend_icmp_checksum(frame);
    EXPECT_EQ(dropped_for(frame), "bad_icmp") << "an echo reply";
    frame = good;
    frame[35] = 1;
    mend_icmp_checksum(frame);
    EXPECT_EQ(dropped_for(frame), "bad_icmp") << "a code that does not exist";
    for (uint32_t bytes = 20; bytes < 28; bytes++) {
        frame = good;
        put_big16(frame, 16, bytes);
        mend_ip_checksum(frame);
        if (bytes >= 24) mend_icmp_checksum(frame);
        EXPECT_EQ(dropped_for(frame), "bad_icmp") << "no room for its header";
    }
    for (const uint32_t sender : {0u, 0xe0000001u, 0xffffffffu, example_us.ip}) {
        frame = good;
        put_big16(frame, 26, sender >> 16);
        put_big16(frame, 28, sender & 0xffff);
        mend_ip_checksum(frame);
        EXPECT_EQ(dropped_for(frame), "bad_icmp") << "not one other host: " << sender;
    }
    frame = good;
    frame[6] |= 1;
    EXPECT_EQ(dropped_for(frame), "bad_icmp") << "a group as the sender's MAC address";
}

}  // namespace
}  // namespace wt::test::responder_test
