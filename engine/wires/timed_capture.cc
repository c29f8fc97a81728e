#include "wires/timed_capture.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "core/refusal.h"
#include "host/regular_file.h"

namespace wt {

namespace {

constexpr uint64_t most_bytes = uint64_t{1} << 30;
constexpr uint64_t second = 1'000'000'000;
constexpr uint64_t longest_days = 365;  // that times in ticks have room for, round after round

// Nanoseconds since 1970; none of what is no time, or is one that a pcap file has no room for.
std::optional<uint64_t> stamp_ns(const pcap_pkthdr &header) {
    const auto seconds = static_cast<uint64_t>(header.ts.tv_sec);
    const auto ns = static_cast<uint64_t>(header.ts.tv_usec);  // the file was opened so
    if (seconds > UINT32_MAX || ns >= second) return std::nullopt;
    return seconds * second + ns;
}

uint16_t big_endian(const u_char *at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }

// The UDP port that a frame is sent to, behind one tag of a VLAN or none; 0 where it is no whole UDP packet,
// or one of IPv6 with extension headers.
uint16_t udp_port_of(const u_char *frame, uint32_t bytes) {
    if (bytes > 18 && big_endian(frame + 12) == 0x8100) frame += 4, bytes -= 4;
    if (bytes >= 62 && big_endian(frame + 12) == 0x86dd && frame[20] == 17) return big_endian(frame + 56);
    if (bytes < 42 || big_endian(frame + 12) != 0x0800 || frame[14] < 0x45 || frame[14] > 0x4f ||
        frame[23] != 17)
        return 0;
    const uint32_t udp = 14 + (frame[14] & 15u) * 4;
    const bool fragment = (big_endian(frame + 20) & 0x3fff) != 0;
    return fragment || udp + 8 > bytes ? 0 : big_endian(frame + udp + 2);
}

std::string in_words(uint64_t ns) {
    char words[40];
    std::snprintf(words, sizeof words, ns < 1'000'000 ? "%.3f us" : "%.3f ms",
                  static_cast<double>(ns) / (ns < 1'000'000 ? 1e3 : 1e6));
    return words;
}

}  // namespace

open_capture capture_open(const std::string &path) {
    const std::string who = "replay " + path + ": ";
    const auto close = [](std::FILE *f) { std::fclose(f); };
    const int descriptor = wt_open_regular(path.c_str());
    std::unique_ptr<std::FILE, decltype(close)> opened(descriptor < 0 ? nullptr : fdopen(descriptor, "rb"),
                                                       close);
    if (!opened)
        throw refusal(who + std::strerror(errno), "name a pcap or pcapng file that this user can read");
    char why[PCAP_ERRBUF_SIZE] = "";
    open_capture file(
        pcap_fopen_offline_with_tstamp_precision(opened.get(), PCAP_TSTAMP_PRECISION_NANO, why));
    if (!file) throw refusal(who + "not a capture: " + why, "name a pcap or pcapng file");
    opened.release();  // pcap_close closes it
    if (pcap_datalink(file.get()) != DLT_EN10MB) {
        const char *name = pcap_datalink_val_to_name(pcap_datalink(file.get()));
        throw refusal(who + "holds " + (name ? name : "unknown") + " frames, not Ethernet ones");
    }
    return file;
}

bool capture_next(pcap_t *file, const std::string &path, uint64_t frames, pcap_pkthdr **header,
                  const u_char **bytes) {
    const int got = pcap_next_ex(file, header, bytes);
    if (got == 1) return true;
    const std::string who = "replay " + path + ": ";
    if (got != PCAP_ERROR_BREAK)
        throw refusal(who + "damaged after frame " + std::to_string(frames) + ": " + pcap_geterr(file));
    if (frames == 0) throw refusal(who + "holds no frame");
    return false;
}

timed_capture read_timed_capture(const std::string &path, uint16_t udp_port, uint16_t queues, uint32_t room) {
    const std::string who = "replay " + path + ": ";
    const open_capture file = capture_open(path);
    timed_capture all;
    all.queues.resize(queues);
    uint64_t first = 0, last = 0;
    pcap_pkthdr *header;
    const u_char *bytes;
    while (capture_next(file.get(), path, all.frames, &header, &bytes)) {
        const std::string frame = "frame " + std::to_string(all.frames + 1);
        const std::optional<uint64_t> stamp = stamp_ns(*header);
        if (!stamp) throw refusal(who + frame + " has no time between 1970 and 2106", "pace = \"speed\"");
        if (all.frames++ == 0) first = last = *stamp;
        if (*stamp < last)
            throw refusal(
                who + frame + " is " + in_words(last - *stamp) +
                    " older than the frame before it, but a capture is replayed in the order of its times",
                "sort it: reordercap " + path + " sorted.pcap");
        if (const uint64_t days = (*stamp - first) / (86'400 * second); days > longest_days)
            throw refusal(who + frame + " is " + std::to_string(days) +
                              " days younger than the first one; at most " + std::to_string(longest_days) +
                              " days are replayed at the capture's own times",
                          "cut it with editcap, or pace = \"speed\"");
        if (header->caplen > room)
            throw refusal(who + frame + " has " + std::to_string(header->caplen) +
                              " bytes, but the pool's mbufs hold " + std::to_string(room),
                          "raise the MTU, or replay a capture of shorter frames");
        if (all.bytes.size() + header->caplen > most_bytes)
            throw refusal(who + "more than 1 GiB of frames, and all are kept in memory",
                          "cut it with editcap");
        last = *stamp;
        const uint16_t to = udp_port_of(bytes, header->caplen);
        const bool ours = to >= udp_port && to < udp_port + queues;
        all.queues[ours ? to - udp_port : 0].push_back({*stamp - first, all.bytes.size(), header->caplen});
        all.bytes.insert(all.bytes.end(), bytes, bytes + header->caplen);
        all.cut_short += header->caplen < header->len;
    }
    if (last == first)
        throw refusal(who + "all its frames have the same time, so it has no pace", "pace = \"speed\"");
    all.round_ns = last - first + (last - first) / (all.frames - 1);
    return all;
}

}  // namespace wt
