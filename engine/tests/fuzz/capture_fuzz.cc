// Reads hostile captures. What is taken must be what libpcap gives, with each frame on the queue that a slow
// parser finds, and be the same once more when it has been recorded. The first byte chooses the queues and
// the room in an mbuf.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "core/pacer.h"
#include "core/refusal.h"
#include "require.h"
#include "wires/capture_file.h"
#include "wires/timed_capture.h"

namespace {

using namespace wt;

constexpr uint16_t first_port = 9000;
constexpr uint64_t second = 1'000'000'000;
constexpr double most_ticks_per_ns = 8;  // a TSC of 8 GHz

// The queue of a frame, field by field.
size_t slow_queue(const std::string &frame, size_t queues) {
    const auto byte = [&](size_t i) -> uint32_t { return i < frame.size() ? uint8_t(frame[i]) : 0; };
    const auto field = [&](size_t i) { return byte(i) << 8 | byte(i + 1); };
    const size_t tag = frame.size() > 18 && field(12) == 0x8100 ? 4 : 0, ip = tag + 14;
    size_t udp = 0;
    if (field(tag + 12) == 0x86dd && byte(ip + 6) == 17) udp = ip + 40;
    if (field(tag + 12) == 0x0800 && byte(ip) >> 4 == 4 && byte(ip) % 16 >= 5 && byte(ip + 9) == 17 &&
        field(ip + 6) % 0x4000 == 0)
        udp = ip + byte(ip) % 16 * 4;
    if (udp == 0 || udp + 8 > frame.size()) return 0;
    const uint32_t port = field(udp + 2);
    return port >= first_port && port - first_port < queues ? port - first_port : 0;
}

struct plain_frame {
    __int128 at;
    std::string bytes;
};

std::vector<plain_frame> frames_by_libpcap(const std::string &path) {
    std::vector<plain_frame> all;
    char why[PCAP_ERRBUF_SIZE];
    const open_capture file(
        pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, why));
    require(file && pcap_datalink(file.get()) == DLT_EN10MB, "what is taken is a capture of Ethernet");
    pcap_pkthdr *header;
    const u_char *bytes;
    int got;
    while ((got = pcap_next_ex(file.get(), &header, &bytes)) == 1)
        all.push_back({static_cast<__int128>(header->ts.tv_sec) * second + header->ts.tv_usec,
                       {reinterpret_cast<const char *>(bytes), header->caplen}});
    require(got == PCAP_ERROR_BREAK, "what is taken is whole");
    return all;
}

void check_frames(const timed_capture &read, const std::vector<plain_frame> &plain, uint32_t room) {
    require(read.frames == plain.size(), "every frame is taken");
    std::vector<size_t> taken(read.queues.size());
    for (const plain_frame &expected : plain) {
        const size_t queue = slow_queue(expected.bytes, read.queues.size());
        require(taken[queue] < read.queues[queue].size(), "a frame is on its queue");
        const timed_frame &frame = read.queues[queue][taken[queue]++];
        require(frame.due_ns == expected.at - plain[0].at, "a frame is due when it was taken");
        require(frame.bytes <= room && frame.at + frame.bytes <= read.bytes.size(), "a frame has its bytes");
        require(frame.bytes == expected.bytes.size() &&
                    std::equal(expected.bytes.begin(), expected.bytes.end(), read.bytes.begin() + frame.at,
                               [](char a, uint8_t b) { return uint8_t(a) == b; }),
                "a frame's bytes are its own");
    }
    for (size_t q = 0; q < taken.size(); q++)
        require(taken[q] == read.queues[q].size(), "a frame is on one queue");
}

// In the first ten rounds: a run sees fewer of a capture of a year.
void check_pace(const timed_capture &read) {
    for (const auto &queue : read.queues) {
        pacer p{.due_ns = {}, .round_ns = read.round_ns, .ticks_per_ns = most_ticks_per_ns};
        for (const timed_frame &frame : queue) p.due_ns.push_back(frame.due_ns);
        for (uint64_t last = 0; !queue.empty() && p.round < 10; pacer_advance(p, 1)) {
            require(pacer_time(p, p.next) >= last, "frames are due one after another");
            last = pacer_time(p, p.next);
        }
    }
}

void check_recording(const timed_capture &read, uint32_t room) {
    const std::string path = "capture-fuzz-" + std::to_string(getpid());
    std::vector<timed_frame> frames;
    for (const auto &queue : read.queues) frames.insert(frames.end(), queue.begin(), queue.end());
    std::ranges::sort(frames, {}, &timed_frame::due_ns);
    capture_file recording(path);
    for (const timed_frame &frame : frames)
        recording.append(frame.due_ns, read.bytes.data() + frame.at, frame.bytes);
    recording.close();
    const timed_capture again =
        read_timed_capture(path, first_port, static_cast<uint16_t>(read.queues.size()), room);
    unlink(path.c_str());
    require(again.frames == read.frames && again.round_ns == read.round_ns && again.cut_short == 0,
            "a recording is as long as its capture");
    for (size_t q = 0; q < read.queues.size(); q++)
        require(std::ranges::equal(read.queues[q], again.queues[q], {}, &timed_frame::due_ns,
                                   &timed_frame::due_ns),
                "a recording has the times of its capture");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    static const int file = memfd_create("capture", 0);
    static const std::string path = "/proc/self/fd/" + std::to_string(file);
    require(ftruncate(file, 0) == 0 && pwrite(file, data + 1, size - 1, 0) == static_cast<ssize_t>(size - 1),
            "the capture is written");
    const auto queues = static_cast<uint16_t>(1 + data[0] % 4);
    const uint32_t room = data[0] & 0x80 ? 64 : 9018;
    try {
        const timed_capture read = read_timed_capture(path, first_port, queues, room);
        check_frames(read, frames_by_libpcap(path), room);
        check_pace(read);
        check_recording(read, room);
    } catch (const refusal &why) {
        require(std::string(why.what()).starts_with("replay " + path + ": "), "a refusal names its file");
    }
    return 0;
}
