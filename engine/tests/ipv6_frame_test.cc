// UDP over IPv6 on bytes alone: frames, neighbour discovery and ICMPv6 echo.
#include <gtest/gtest.h>

#include <memory>

#include "control/responder_ipv6.h"
#include "ipv6_tools.h"

namespace wt::test::ipv6_frame_test {
namespace {

constexpr ipv6_address server_ip = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34, 2},
                       client_ip = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr mac_address server_mac = {{0x10, 0x70, 0xfd, 0x6b, 0x93, 0x5c}},
                      client_mac = {{0x10, 0x70, 0xfd, 0x87, 0x0e, 0xba}};
constexpr local_address us = {
    .mac = server_mac, .ip = 0, .first_port = 20020, .queues = 4, .queue = 1, .ipv6 = server_ip};
byte_vector datagram(uint32_t bytes, uint16_t port = 20021) {
    const flow f{.source_mac = client_mac,
                 .destination_mac = server_mac,
                 .source_ip = 0,
                 .destination_ip = 0,
                 .source_port = 10010,
                 .destination_port = port,
                 .source_ipv6 = client_ip,
                 .destination_ipv6 = server_ip};
    frame_template t = frame_ipv6_prepare(f);
    byte_vector frame(frame_ipv6_header_bytes), payload = counted(bytes);
    frame.insert(frame.end(), payload.begin(), payload.end());
    frame_ipv6_write(frame.data(), t, bytes);
    return frame;
}

struct parsed {
    parse_result result;
    drop why = drop::count;
    parsed_frame frame{};
};

parsed parse(const byte_vector &frame) {
    parsed p{};
    p.why = drop::count;
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[frame.size()]);
    std::ranges::copy(frame, exact.get());
    p.result = frame_ipv6_parse(exact.get(), static_cast<uint32_t>(frame.size()), us, &p.frame, &p.why);
    return p;
}

std::string why(const byte_vector &frame) {
    const parsed p = parse(frame);
    return p.result == parse_result::dropped ? drop_names[static_cast<int>(p.why)] : "";
}

TEST(frame_ipv6, what_is_written_has_its_lengths_and_checksum) {
    for (const uint32_t bytes : {0u, 1u, 2u, 86u, 1452u, 8952u}) {
        const byte_vector frame = datagram(bytes);
        EXPECT_EQ(big16(frame, 12), 0x86ddu);
        EXPECT_EQ(big16(frame, 18), 8 + bytes);
        EXPECT_EQ(big16(frame, 58), 8 + bytes);
        EXPECT_EQ(slow_ipv6_sum(frame), 0xffffu);
        const parsed p = parse(frame);
        ASSERT_EQ(p.result, parse_result::udp) << bytes;
        EXPECT_EQ(p.frame.payload_offset, frame_ipv6_header_bytes);
        EXPECT_EQ(p.frame.payload_bytes, bytes);
    }
}

TEST(frame_ipv6, a_turned_frame_goes_back_with_another_length) {
    byte_vector frame =
        changed(changed(datagram(40), 15, 0x12), 21, 3);  // flow label and hop limit of theirs
    frame.resize(frame_ipv6_header_bytes + 101, 0xee);
    frame_ipv6_turn(frame.data(), 101);
    EXPECT_TRUE(std::equal(client_mac.bytes, client_mac.bytes + 6, frame.begin()));
    EXPECT_TRUE(std::equal(server_mac.bytes, server_mac.bytes + 6, frame.begin() + 6));
    EXPECT_TRUE(std::ranges::equal(server_ip, std::span(frame).subspan(22, 16)));
    EXPECT_TRUE(std::ranges::equal(client_ip, std::span(frame).subspan(38, 16)));
    EXPECT_EQ(big16(frame, 54), 20021u);
    EXPECT_EQ(big16(frame, 56), 10010u);
    EXPECT_EQ(big16(frame, 14), 0x6000u);
    EXPECT_EQ(big16(frame, 18), 109u);
    EXPECT_EQ(frame[21], frame_time_to_live);
    EXPECT_EQ(slow_ipv6_sum(frame), 0xffffu);
}

// A datagram whose checksum comes to 0, which is sent as 0xffff; empty if no payload gives one.
byte_vector datagram_of_sum_zero() {
    for (uint32_t word = 0; word <= 0xffff; word++) {
        byte_vector frame = datagram(2);
        put_big16(frame, frame_ipv6_header_bytes, word);
        mend_ipv6_checksum(frame);
        if (big16(frame, 60) == 0xffff) return frame;
    }
    return {};
}

TEST(frame_ipv6, a_checksum_of_zero_is_sent_as_its_other_form) {
    byte_vector frame = datagram_of_sum_zero();
    ASSERT_FALSE(frame.empty());
    frame_ipv6_turn(frame.data(), 2);  // what changes places leaves the sum as it is
    EXPECT_EQ(big16(frame, 60), 0xffffu);
}

TEST(frame_ipv6, a_datagram_without_a_checksum_is_dropped_even_if_its_sum_holds) {
    byte_vector frame = datagram_of_sum_zero();
    ASSERT_FALSE(frame.empty());
    put_big16(frame, 60, 0);
    ASSERT_EQ(slow_ipv6_sum(frame), 0xffffu);
    EXPECT_EQ(why(frame), "bad_udp_checksum");
}

TEST(frame_ipv6, each_extension_header_and_fragments_have_their_names) {
    for (const uint8_t extension : {0, 43, 51, 60, 135, 139, 140})
        EXPECT_EQ(why(changed(datagram(40), next_header, extension)), "ip_extension") << +extension;
    EXPECT_EQ(why(changed(datagram(40), next_header, 44)), "ip_fragment");
    for (const uint8_t other : {6, 18, 50, 59, 132})
        EXPECT_EQ(why(changed(datagram(40), next_header, other)), "not_udp") << +other;
}

TEST(frame_ipv6, what_is_wrong_has_a_name) {
    const byte_vector good = datagram(40);
    const auto cut = [&](size_t bytes) { return byte_vector(good.begin(), good.begin() + bytes); };
    for (const size_t bytes : {0u, 13u, 14u, 53u, 54u, 61u, 101u})
        EXPECT_EQ(why(cut(bytes)), "runt") << bytes;
    EXPECT_EQ(why(changed(changed(good, 12, 8), 13, 0)), "not_ipv6");
    EXPECT_EQ(why(changed(changed(good, 12, 0x81), 13, 0)), "tagged");
    EXPECT_EQ(why(changed(good, 0, 0x12)), "not_for_us");
    EXPECT_EQ(why(changed(good, 53, 9)), "not_for_us");
    EXPECT_EQ(why(changed(good, 14, 0x40)), "bad_ip_header");
    EXPECT_EQ(why(changed(good, 19, 7)), "bad_udp_length");
    EXPECT_EQ(why(changed(good, 59, 7)), "bad_udp_length");
    EXPECT_EQ(why(changed(good, 59, 49)), "bad_udp_length");
    EXPECT_EQ(why(changed(good, 70, 0xee)), "bad_udp_checksum");
    EXPECT_EQ(why(changed(changed(good, 60, 0), 61, 0)), "bad_udp_checksum");
    EXPECT_EQ(why(datagram(40, 20022)), "misdirected");
    EXPECT_EQ(why(datagram(40, 20024)), "unknown_port");
    EXPECT_EQ(why(datagram(40, 20019)), "unknown_port");
}

// By both headers: it is for the group, not for who is asked alone.
TEST(frame_ipv6, a_datagram_to_the_group_is_not_for_us) {
    byte_vector frame = datagram(40);
    const mac_address group = {{0x33, 0x33, 0xff, 0x12, 0x34, 2}};
    std::ranges::copy(group.bytes, frame.begin());
    EXPECT_EQ(why(frame), "not_for_us");
}

byte_vector solicitation(const ipv6_address &asked = server_ip) {
    byte_vector frame(neighbour_frame_bytes);
    const local_address asker{
        .mac = client_mac, .ip = 0, .first_port = 1, .queues = 1, .queue = 0, .ipv6 = client_ip};
    solicitation_write(frame.data(), asker, asked);
    return frame;
}

TEST(neighbours, a_solicitation_is_as_rfc_4861_has_it) {
    const byte_vector frame = solicitation();
    const uint8_t group_mac[] = {0x33, 0x33, 0xff, 0x12, 0x34, 2};
    const uint8_t group[] = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0x12, 0x34, 2};
    EXPECT_TRUE(std::ranges::equal(group_mac, std::span(frame).first(6)));
    EXPECT_TRUE(std::ranges::equal(group, std::span(frame).subspan(38, 16)));
    EXPECT_EQ(frame[21], 255);
    EXPECT_EQ(big16(frame, 54), 135u << 8);
    EXPECT_TRUE(std::ranges::equal(server_ip, std::span(frame).subspan(62, 16)));
    EXPECT_EQ(big16(frame, 78), 0x0101u);  // the asker's MAC, in one unit of 8 bytes
    EXPECT_TRUE(std::equal(client_mac.bytes, client_mac.bytes + 6, frame.begin() + 80));
    EXPECT_EQ(slow_ipv6_sum(frame), 0xffffu);
    EXPECT_EQ(parse(frame).result, parse_result::control);
}

struct response {
    uint32_t bytes;
    drop why = drop::count;
    byte_vector frame;
};

response respond_to(byte_vector frame) {
    response r{};
    r.frame = std::move(frame);
    r.frame.resize(std::max<size_t>(r.frame.size(), neighbour_frame_bytes));
    r.bytes = respond_ipv6(r.frame.data(), us, &r.why);
    return r;
}

TEST(neighbours, a_solicitation_gets_our_mac_and_the_asker_can_read_it) {
    const response r = respond_to(solicitation());
    ASSERT_EQ(r.bytes, neighbour_frame_bytes);
    EXPECT_EQ(slow_ipv6_sum(r.frame), 0xffffu);
    EXPECT_EQ(r.frame[21], 255);
    EXPECT_EQ(r.frame[54], 136);
    EXPECT_EQ(r.frame[58], 0x60) << "solicited, and replaces what is known";
    EXPECT_TRUE(std::equal(client_mac.bytes, client_mac.bytes + 6, r.frame.begin()));
    EXPECT_TRUE(std::ranges::equal(client_ip, std::span(r.frame).subspan(38, 16)));
    mac_address mac{};
    ASSERT_TRUE(advertisement_read(r.frame.data(), server_ip, &mac));
    EXPECT_TRUE(std::equal(mac.bytes, mac.bytes + 6, server_mac.bytes));
    EXPECT_FALSE(advertisement_read(r.frame.data(), client_ip, &mac));
}

// RFC 4861, 7.2.4: who has no address yet is told with all others.
TEST(neighbours, who_asks_whether_an_address_is_free_is_told_with_all) {
    byte_vector asked = solicitation();
    std::fill_n(asked.begin() + 22, 16, uint8_t{0});
    mend_ipv6_checksum(asked);
    const response r = respond_to(asked);
    ASSERT_EQ(r.bytes, neighbour_frame_bytes);
    const uint8_t all_nodes_mac[] = {0x33, 0x33, 0, 0, 0, 1};
    EXPECT_TRUE(std::ranges::equal(all_nodes_mac, std::span(r.frame).first(6)));
    EXPECT_EQ(r.frame[38], 0xff);
    EXPECT_EQ(r.frame[58], 0x20);
    EXPECT_EQ(slow_ipv6_sum(r.frame), 0xffffu);
}

std::string refused(byte_vector frame, bool mended = true) {
    if (mended) mend_ipv6_checksum(frame);
    const response r = respond_to(frame);
    return r.bytes == 0 ? drop_names[static_cast<int>(r.why)] : "";
}

TEST(neighbours, what_gets_no_reply_has_a_name) {
    EXPECT_EQ(refused(solicitation(client_ip)), "neighbour_not_for_us");
    EXPECT_EQ(refused(changed(solicitation(), 21, 254)), "bad_neighbour") << "from behind a router";
    EXPECT_EQ(refused(changed(solicitation(), 55, 1)), "bad_neighbour");
    EXPECT_EQ(refused(changed(solicitation(), 6, 1)), "bad_neighbour") << "from a multicast MAC";
    EXPECT_EQ(refused(changed(solicitation(), 22, 0xff)), "bad_neighbour");
    EXPECT_EQ(refused(changed(solicitation(), 19, 16)), "bad_neighbour") << "without a target";
    EXPECT_EQ(refused(changed(solicitation(), 54, 136)), "neighbour_unasked");
    EXPECT_EQ(refused(changed(solicitation(), 54, 134)), "bad_icmp") << "a router's";
    EXPECT_EQ(refused(changed(solicitation(), 56, 0xee), false), "bad_icmp");
}

TEST(neighbours, an_advertisement_that_is_no_reply_to_us_is_not_read) {
    const byte_vector good = respond_to(solicitation()).frame;
    mac_address mac;
    for (const auto &[at, value] : std::vector<std::pair<size_t, uint8_t>>{
             {21, 254}, {54, 135}, {55, 1}, {62, 1}, {78, 1}, {79, 0}, {80, 1}, {19, 24}}) {
        byte_vector frame = changed(good, at, value);
        mend_ipv6_checksum(frame);
        EXPECT_FALSE(advertisement_read(frame.data(), server_ip, &mac)) << at;
    }
    EXPECT_FALSE(advertisement_read(changed(good, 56, 0xee).data(), server_ip, &mac));
}

byte_vector echo_request(uint32_t bytes) {
    byte_vector frame = datagram(bytes);
    frame[next_header] = next_is_icmpv6;
    const uint8_t icmp[] = {128, 0, 0, 0, 0x12, 0x34, 0, 7};
    std::ranges::copy(icmp, frame.begin() + udp);
    mend_ipv6_checksum(frame);
    return frame;
}

TEST(icmpv6, an_echo_request_gets_its_data_back) {
    for (const uint32_t bytes : {0u, 1u, 56u, 1452u}) {
        const byte_vector asked = echo_request(bytes);
        ASSERT_EQ(parse(asked).result, parse_result::control);
        const response r = respond_to(asked);
        ASSERT_EQ(r.bytes, asked.size());
        EXPECT_EQ(r.frame[54], 129);
        EXPECT_EQ(slow_ipv6_sum(r.frame), 0xffffu);
        EXPECT_TRUE(std::equal(asked.begin() + 58, asked.end(), r.frame.begin() + 58));
        EXPECT_TRUE(std::ranges::equal(client_ip, std::span(r.frame).subspan(38, 16)));
    }
    EXPECT_EQ(refused(changed(echo_request(4), 55, 1)), "bad_icmp");
    EXPECT_EQ(refused(changed(echo_request(4), 54, 129)), "bad_icmp");
    EXPECT_EQ(refused(changed(echo_request(4), 22, 0xff)), "bad_icmp");
    EXPECT_EQ(refused(changed(echo_request(4), 60, 0xee), false), "bad_icmp");
}

}  // namespace
}  // namespace wt::test::ipv6_frame_test
