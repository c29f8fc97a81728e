// Parses hostile frames beside a slow parser that shares nothing with ours, then turns or replies to what is
// good.
//
// Input: one byte that says what is mended first (flipped bits alone would hardly ever get past the
// checksums), then the frame.
#include <memory>

#include "control/responder.h"
#include "core/plain_frame.h"
#include "slow_frame.h"
#include "tests/frame_tools.h"

namespace {

using namespace wt;

enum mending : uint8_t { addresses = 1, ip_checksum = 2, udp_checksum = 4, icmp_checksum = 8 };

bool mac_is(std::span<const uint8_t> frame, const mac_address &mac) {
    return std::equal(mac.bytes, mac.bytes + 6, frame.begin());
}

uint32_t big32(std::span<const uint8_t> bytes, size_t at) {
    return big16(bytes, at) << 16 | big16(bytes, at + 2);
}

// The order of the checks is part of what is compared: a frame with two faults has one name.
verdict slow_parse(std::span<const uint8_t> f, const local_address &us) {
    if (f.size() < 14) return dropped(drop::runt);
    const bool to_us = mac_is(f, us.mac);
    if (big16(f, 12) == 0x0806) {
        const bool to_all = std::all_of(f.begin(), f.begin() + 6, [](uint8_t b) { return b == 0xff; });
        return to_us || to_all ? verdict{parse_result::control} : dropped(drop::not_for_us);
    }
    if (const drop why = fault_of_tags(f); why != drop::count) return dropped(why);
    if (big16(f, 12) != 0x0800) return dropped(drop::not_ipv4);
    if (!to_us) return dropped(drop::not_for_us);
    if (f.size() < 34) return dropped(drop::runt);
    const uint32_t header = slow_ip_header_bytes(f), total = big16(f, 16);
    if (f[14] / 16 != 4 || header < 20 || total < header) return dropped(drop::bad_ip_header);
    if (14 + total > f.size()) return dropped(drop::runt);
    if (slow_ip_sum(f) != 0xffff) return dropped(drop::bad_ip_checksum);
    if (big32(f, 30) != us.ip) return dropped(drop::not_for_us);
    if (big16(f, 20) % 0x4000 != 0) return dropped(drop::ip_fragment);
    if (f[23] == 1) return {parse_result::control};
    if (f[23] != 17) return dropped(drop::not_udp);
    if (total - header < 8) return dropped(drop::bad_udp_length);
    const uint32_t udp = 14 + header, length = big16(f, udp + 4);
    if (length < 8 || length > total - header) return dropped(drop::bad_udp_length);
    if (big16(f, udp + 6) != 0 && slow_udp_sum(f) != 0xffff) return dropped(drop::bad_udp_checksum);
    const uint32_t port = big16(f, udp + 2);
    if (port < us.first_port || port >= us.first_port + us.queues) return dropped(drop::unknown_port);
    if (port != us.first_port + us.queue) return dropped(drop::misdirected);
    return {parse_result::udp, drop::count, {udp + 8, length - 8}};
}

byte_vector mended(const uint8_t *data, size_t size) {
    const uint8_t mode = data[0];
    byte_vector frame(data + 1, data + size);
    if (frame.size() < frame_header_bytes) return frame;
    if (mode & addresses) {
        std::copy_n(example_us.mac.bytes, 6, frame.begin());
        put_big16(frame, 30, example_us.ip >> 16);
        put_big16(frame, 32, example_us.ip & 0xffff);
    }
    const size_t ip_bytes = big16(frame, 16), header = slow_ip_header_bytes(frame);
    if (ip_bytes < header + 8 || 14 + ip_bytes > frame.size()) return frame;
    if (mode & ip_checksum) mend_ip_checksum(frame);
    if (mode & icmp_checksum) mend_icmp_checksum(frame);
    if (mode & udp_checksum && big16(frame, 14 + header + 4) <= ip_bytes - header) mend_udp_checksum(frame);
    return frame;
}

// Whoever sent the frame, as the one that a response must reach.
local_address sender_of(std::span<const uint8_t> frame, uint16_t port) {
    local_address sender = {.mac = {}, .ip = big32(frame, 26), .first_port = port, .queues = 1, .queue = 0};
    std::copy_n(frame.begin() + 6, 6, sender.mac.bytes);
    return sender;
}

void check_turn(byte_vector frame, const parsed_frame &parsed, uint8_t mode) {
    const local_address sender =
        sender_of(frame, static_cast<uint16_t>(big16(frame, parsed.payload_offset - 8)));
    const byte_vector asked(frame.begin() + parsed.payload_offset,
                            frame.begin() + parsed.payload_offset + parsed.payload_bytes);
    frame_cut_options(frame.data(), parsed);
    require(std::equal(asked.begin(), asked.end(), frame.begin() + frame_header_bytes),
            "a payload is the same behind a header without options");

    const uint32_t payload_bytes = std::min<uint32_t>(mode * 8u, 65535 - frame_header_bytes);
    frame.resize(frame_header_bytes + payload_bytes, 0xee);
    const byte_vector payload(frame.begin() + frame_header_bytes, frame.end());
    frame_turn(frame.data(), payload_bytes);
    const verdict v = slow_parse(frame, sender);
    require(v.result == parse_result::udp, "a turned frame reaches its sender");
    require(v.frame.payload_offset == frame_header_bytes, "its payload is where it was");
    require(v.frame.payload_bytes == payload_bytes, "its payload is as long as asked");
    require(std::equal(payload.begin(), payload.end(), frame.begin() + frame_header_bytes),
            "its payload is intact");
    require(big16(frame, offset::udp_checksum) != 0, "it has a UDP checksum");
}

void check_response(const byte_vector &asked) {
    byte_vector frame = asked;
    drop why = drop::count;
    const uint32_t bytes = respond(frame.data(), static_cast<uint32_t>(frame.size()), example_us, &why);
    if (bytes == 0) return require(why != drop::count, "a drop has its reason");
    require(bytes <= frame.size(), "a reply fits into the frame of its request");
    frame.resize(bytes);
    if (big16(frame, 12) == 0x0806) {
        mac_address mac{};
        require(arp_reply_read(frame.data(), bytes, example_us.ip, &mac), "an ARP reply can be read");
        require(std::equal(mac.bytes, mac.bytes + 6, example_us.mac.bytes), "it has our address");
        require(big32(frame, 38) == big32(asked, 28), "it is for the asker");
    } else {
        require(slow_parse(frame, sender_of(asked, 0)).result == parse_result::control,
                "an echo reaches its asker");
        require(slow_sum(std::span(frame).subspan(14 + slow_ip_header_bytes(frame))) == 0xffff,
                "its checksum holds");
    }
}

// A frame is the same whether another one came before, or itself, or none.
void check_kept_headers(const uint8_t *frame, uint32_t bytes) {
    const plain_match us = plain_match_of(example_us);
    const byte_vector example = example_frame(byte_vector(bytes > 42 ? bytes - 42 : 1));
    known_headers kept;
    plain_payload_bytes(example.data(), static_cast<uint32_t>(example.size()), us, 1, kept);
    const uint32_t alone = plain_payload_bytes(frame, bytes, us, 1);
    require(plain_payload_bytes(frame, bytes, us, 1, kept) == alone, "another one's headers change nothing");
    known_headers own;
    require(plain_payload_bytes(frame, bytes, us, 1, own) == alone, "no headers are kept at first");
    require(plain_payload_bytes(frame, bytes, us, 1, own) == alone, "its own headers change nothing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1 || size > 9100) return 0;
    const byte_vector frame = mended(data, size);
    // An allocation of its own: AddressSanitizer sees what lies before and behind the frame.
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[frame.size()]);
    std::copy(frame.begin(), frame.end(), exact.get());
    const auto bytes = static_cast<uint32_t>(frame.size());

    verdict ours = {parse_result::dropped};
    ours.result = frame_parse(exact.get(), bytes, example_us, &ours.frame, &ours.why);
    const verdict slow = slow_parse(frame, example_us);
    if (const uint32_t plain = plain_payload_bytes(exact.get(), bytes, plain_match_of(example_us), 1);
        plain > 0)
        require(slow.result == parse_result::udp && slow.frame.payload_offset == frame_header_bytes &&
                    slow.frame.payload_bytes == plain,
                "what is plain is right");
    require(ours.result == slow.result, "both parsers agree on what the frame is");
    check_kept_headers(exact.get(), bytes);
    require(std::equal(frame.begin(), frame.end(), exact.get()), "parsing changes nothing");
    mac_address mac;
    arp_reply_read(exact.get(), bytes, example_us.ip, &mac);

    if (ours.result == parse_result::dropped)
        require(ours.why == slow.why, "both parsers name the same fault");
    if (ours.result == parse_result::control) check_response(frame);
    if (ours.result == parse_result::udp) {
        require(ours.frame.payload_offset == slow.frame.payload_offset,
                "both parsers see the payload at one place");
        require(ours.frame.payload_bytes == slow.frame.payload_bytes, "both parsers see as much payload");
        check_turn(frame, ours.frame, data[0]);
    }
    return 0;
}
