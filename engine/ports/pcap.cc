// The frames of a capture, over and over: as fast as they are taken (net_pcap with infinite_rx), or each at
// its own time. What is sent is dropped.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "core/refusal.h"
#include "ports/kinds.h"
#include "ports/timed_capture.h"

namespace wt {

namespace {

constexpr uint16_t most_queues = 16;  // RTE_PMD_PCAP_MAX_QUEUES, which no header shows

struct capture {
    uint64_t frames = 0, cut_short = 0;
    uint32_t longest = 0;
};

// Reads the whole capture, so that the driver finds nothing to refuse in it.
capture look_through(const std::string &path) {
    const open_capture file = capture_open(path);
    capture found;
    pcap_pkthdr *header;
    const u_char *bytes;
    while (capture_next(file.get(), path, found.frames, &header, &bytes)) {
        found.frames++;
        found.longest = std::max<uint32_t>(found.longest, header->caplen);
        found.cut_short += header->caplen < header->len;
    }
    return found;
}

void note_cut_short(port &made, uint64_t frames) {
    if (frames)
        made.notes.push_back(std::to_string(frames) +
                             " frames of the capture were cut short when it was taken");
}

// No driver keeps times: nic_rx plays the frames itself (stages/nic_rx_paced.cc), and net_null takes what is
// sent.
port make_paced(const endpoint_plan &e, size_t index, rte_mempool *pool) {
    auto frames = std::make_shared<timed_capture>(
        read_timed_capture(*e.port.replay, e.udp_port, e.port.queues, frame_room(pool)));
    port made{.kind = port_kind::pcap};
    make_vdev(made, "net_null", index, "size=60,copy=0");
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.6g s", static_cast<double>(frames->round_ns) / 1e9);
    made.notes.push_back("the capture's " + std::to_string(frames->frames) +
                         " frames enter in nic_rx at their own times, each copied once, again every " +
                         seconds + "; what is sent is dropped");
    note_cut_short(made, frames->cut_short);
    made.paced = std::move(frames);
    return made;
}

}  // namespace

port make_pcap(const endpoint_plan &e, size_t index, rte_mempool *pool) {
    if (*e.port.replay_at_its_times) return make_paced(e, index, pool);
    const std::string &path = vdev_value("replay", *e.port.replay);
    if (e.port.queues > most_queues)
        throw refusal("pcap wire: net_pcap has at most " + std::to_string(most_queues) + " queues, not " +
                      std::to_string(e.port.queues));
    const capture found = look_through(path);
    if (found.longest > frame_room(pool))
        throw refusal("replay " + path + ": a frame of " + std::to_string(found.longest) +
                          " bytes, but the pool's mbufs hold " + std::to_string(frame_room(pool)),
                      "raise the MTU, or replay a capture of shorter frames");
    // the driver keeps every frame of the capture in an mbuf of the pool, once for each queue
    const uint64_t kept = found.frames * e.port.queues;
    if (kept >= pool->size)
        throw refusal("replay " + path + ": " + std::to_string(found.frames) + " frames on " +
                          std::to_string(e.port.queues) + " queues stay in " + std::to_string(kept) +
                          " mbufs; the pool has " + std::to_string(pool->size),
                      "a larger mempool, fewer queues, or a shorter capture");

    std::string arguments = "infinite_rx=1";
    for (uint16_t q = 0; q < e.port.queues; q++) arguments += ",rx_pcap=" + path;
    port made{.kind = port_kind::pcap};
    make_vdev(made, "net_pcap", index, arguments);
    made.notes.push_back("net_pcap replays " + std::to_string(found.frames) +
                         " frames over and over on every queue, each copied once, and drops what is sent");
    note_cut_short(made, found.cut_short);
    return made;
}

}  // namespace wt
