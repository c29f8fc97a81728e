// Parses hostile IPv6 frames beside a slow parser that shares nothing with ours, then turns or replies to
// what is good.
//
// Input: one byte that says what is mended first, then the frame.
#include <memory>

#include "control/responder_ipv6.h"
#include "slow_frame.h"
#include "tests/ipv6_tools.h"

namespace {

using namespace wt;

enum mending : uint8_t { addresses = 1, to_group = 2, lengths = 4, checksum = 8 };

constexpr ipv6_address our_ip = {0xfd, 0, 0, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
constexpr ipv6_address our_group = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 2};
constexpr uint8_t our_group_mac[] = {0x33, 0x33, 0xff, 0, 0, 2};
constexpr size_t headers = 62;  // of Ethernet, IPv6 and UDP

local_address us() {
    local_address a = example_us;
    a.ipv6 = our_ip;
    return a;
}

bool stands(std::span<const uint8_t> frame, size_t at, const auto &bytes) {
    return std::equal(std::begin(bytes), std::end(bytes), frame.begin() + static_cast<ptrdiff_t>(at));
}

drop fault_of(uint8_t next) {
    constexpr uint8_t extensions[] = {0, 43, 51, 60, 135, 139, 140};
    if (next == 44) return drop::ip_fragment;
    return std::ranges::count(extensions, next) ? drop::ip_extension : drop::not_udp;
}

// The order of the checks is part of what is compared: a frame with two faults has one name.
verdict slow_parse(std::span<const uint8_t> f, const local_address &to) {
    if (f.size() < 14) return dropped(drop::runt);
    if (const drop why = fault_of_tags(f); why != drop::count) return dropped(why);
    if (big16(f, 12) != 0x86dd) return dropped(drop::not_ipv6);
    const bool mac_is_ours = stands(f, 0, to.mac.bytes);
    const mac_address group_mac = group_mac_of(solicited_group_of(to.ipv6));
    if (!mac_is_ours && !stands(f, 0, group_mac.bytes)) return dropped(drop::not_for_us);
    if (f.size() < 54) return dropped(drop::runt);
    if (f[14] / 16 != 6) return dropped(drop::bad_ip_header);
    const uint32_t behind = big16(f, 18);
    if (54 + behind > f.size()) return dropped(drop::runt);
    const bool ip_is_group = stands(f, 38, solicited_group_of(to.ipv6));
    if (!ip_is_group && !stands(f, 38, to.ipv6)) return dropped(drop::not_for_us);
    if (f[20] == 58) return {parse_result::control};
    if (ip_is_group || !mac_is_ours) return dropped(drop::not_for_us);
    if (f[20] != 17) return dropped(fault_of(f[20]));
    if (behind < 8 || big16(f, 58) < 8 || big16(f, 58) > behind) return dropped(drop::bad_udp_length);
    const uint32_t length = big16(f, 58);
    const uint8_t pseudo[] = {0, 0, f[58], f[59], 0, 0, 0, 17};
    const uint32_t sum = slow_sum(f.subspan(54, length), slow_sum(pseudo, slow_sum(f.subspan(22, 32))));
    if (big16(f, 60) == 0 || sum != 0xffff) return dropped(drop::bad_udp_checksum);
    const uint32_t port = big16(f, 56);
    if (port < to.first_port || port >= to.first_port + to.queues) return dropped(drop::unknown_port);
    if (port != to.first_port + to.queue) return dropped(drop::misdirected);
    return {parse_result::udp, drop::count, {headers, length - 8}};
}

byte_vector mended(const uint8_t *data, size_t size) {
    const uint8_t mode = data[0];
    byte_vector frame(data + 1, data + size);
    if (frame.size() < headers) return frame;
    if (mode & addresses) {
        std::copy_n(example_us.mac.bytes, 6, frame.begin());
        std::ranges::copy(our_ip, frame.begin() + 38);
    }
    if (mode & to_group) {
        std::ranges::copy(our_group_mac, frame.begin());
        std::ranges::copy(our_group, frame.begin() + 38);
    }
    const auto behind = static_cast<uint32_t>(frame.size() - 54);
    if (mode & lengths) {
        put_big16(frame, 18, behind);
        if (frame[20] == 17) put_big16(frame, 58, behind);
    }
    if (mode & checksum && big16(frame, 18) <= behind && big16(frame, 18) >= 8) mend_ipv6_checksum(frame);
    return frame;
}

// Whoever sent the frame, as the one that a response must reach.
local_address sender_of(std::span<const uint8_t> frame, uint32_t port) {
    local_address sender = {
        .mac = {}, .ip = 0, .first_port = static_cast<uint16_t>(port), .queues = 1, .queue = 0};
    std::copy_n(frame.begin() + 6, 6, sender.mac.bytes);
    std::copy_n(frame.begin() + 22, 16, sender.ipv6.begin());
    return sender;
}

void check_turn(byte_vector frame, uint8_t mode) {
    const local_address sender = sender_of(frame, big16(frame, 54));
    const uint32_t payload_bytes = mode * 8u;
    frame.resize(headers + payload_bytes, 0xee);
    const byte_vector payload(frame.begin() + headers, frame.end());
    frame_ipv6_turn(frame.data(), payload_bytes);
    const verdict v = slow_parse(frame, sender);
    const bool is_group = stands(frame, 38, solicited_group_of(sender.ipv6));
    require(v.result == parse_result::udp || is_group, "a turned frame reaches its sender");
    if (v.result == parse_result::udp)
        require(v.frame.payload_bytes == payload_bytes, "its payload is as long as asked");
    require(std::equal(payload.begin(), payload.end(), frame.begin() + headers), "its payload is intact");
}

void check_response(const byte_vector &asked) {
    const std::unique_ptr<uint8_t[]> room(new uint8_t[std::max<size_t>(asked.size(), neighbour_frame_bytes)]);
    std::ranges::copy(asked, room.get());
    drop why = drop::count;
    const uint32_t bytes = respond_ipv6(room.get(), us(), &why);
    if (bytes == 0) return require(why != drop::count, "a drop has its reason");
    require(bytes <= std::max<size_t>(asked.size(), neighbour_frame_bytes), "a reply fits into its room");
    const std::span<const uint8_t> frame(room.get(), bytes);
    require(big16(frame, 18) + 54 == bytes, "a reply is as long as it says");
    require(slow_ipv6_sum(frame) == 0xffff, "its checksum holds");
    require(stands(frame, 22, our_ip), "it is from us");
    mac_address mac{};
    if (frame[54] != 136)
        return require(frame[54] == 129, "what is no advertisement is the reply to an echo");
    require(advertisement_read(frame.data(), our_ip, &mac), "an advertisement can be read");
    require(stands(std::span<const uint8_t>(mac.bytes), 0, example_us.mac.bytes), "it has our MAC");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1 || size > 9100) return 0;
    const byte_vector frame = mended(data, size);
    // An allocation of its own: AddressSanitizer sees what lies before and behind the frame.
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[frame.size()]);
    std::ranges::copy(frame, exact.get());

    verdict ours = {parse_result::dropped};
    ours.result =
        frame_ipv6_parse(exact.get(), static_cast<uint32_t>(frame.size()), us(), &ours.frame, &ours.why);
    const verdict slow = slow_parse(frame, us());
    require(ours.result == slow.result, "both parsers agree on what the frame is");
    require(std::ranges::equal(frame, std::span(exact.get(), frame.size())), "parsing changes nothing");
    if (ours.result == parse_result::dropped)
        return require(ours.why == slow.why, "both parsers name the same fault"), 0;
    if (ours.result == parse_result::control) return check_response(frame), 0;
    require(ours.frame.payload_offset == slow.frame.payload_offset &&
                ours.frame.payload_bytes == slow.frame.payload_bytes,
            "both parsers see the same payload");
    check_turn(frame, data[0]);
    return 0;
}
