// A capture in memory: its frames and when each was taken.
#pragma once

#include <pcap/pcap.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wt {

// A capture of Ethernet frames, with times in nanoseconds. Throws refusal in words where `path` is none.
struct capture_closing {
    void operator()(pcap_t *p) const { pcap_close(p); }
};
using open_capture = std::unique_ptr<pcap_t, capture_closing>;
open_capture capture_open(const std::string &path);

// The next frame, false at the end. Throws refusal where the file is damaged; `frames` is how many came
// before.
bool capture_next(pcap_t *file, const std::string &path, uint64_t frames, pcap_pkthdr **header,
                  const u_char **bytes);

struct timed_frame {
    uint64_t due_ns;  // since the first frame
    uint64_t at;      // in timed_capture::bytes
    uint32_t bytes;
};

struct timed_capture {
    std::vector<uint8_t> bytes;
    std::vector<std::vector<timed_frame>> queues;
    uint64_t frames = 0, cut_short = 0;
    uint64_t round_ns = 0;  // the capture's length and one mean gap
};

// Reads the capture. A frame enters on the queue whose UDP port it is sent to (`udp_port` + queue), on queue
// 0 if to none of them. Throws refusal for what cannot be played at its own times: stamps that go backwards,
// or that are all one.
timed_capture read_timed_capture(const std::string &path, uint16_t udp_port, uint16_t queues, uint32_t room);

}  // namespace wt
