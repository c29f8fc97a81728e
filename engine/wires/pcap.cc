// The frames of a capture, over and over: as fast as they are taken (net_pcap with infinite_rx), or each at
// its own time. What is sent is dropped.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "core/refusal.h"
#include "wires/device.h"
#include "wires/timed_capture.h"
#include "wires/wire.h"

namespace wt {

namespace {

constexpr uint16_t most_queues = 16;  // RTE_PMD_PCAP_MAX_QUEUES, which no header shows

constexpr wt_wire_option options[] = {
    {.name = "replay",
     .help = "the capture to replay in a loop, relative to this file",
     .example = "frames.pcap",
     .type = WT_WIRE_FILE,
     .scope = WT_WIRE_OF_WIRE,
     .flags = WT_WIRE_REQUIRED},
    {.name = "pace",
     .fallback = "speed",
     .choices = "speed|capture",
     .help = "as fast as the server takes them (speed), or each frame at its own time",
     .timed = "capture",
     .type = WT_WIRE_CHOICE,
     .scope = WT_WIRE_OF_WIRE},
    {},
};
constexpr wt_wire_need needs[] = {{.kind = WT_NEEDS_CAPTURE, .option = "replay"}, {}};

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
port make_paced(const wire_end &end) {
    auto frames = std::make_shared<timed_capture>(read_timed_capture(
        end.values.text("replay"), end.plan.udp_port, end.plan.port.queues, frame_room(end.pool)));
    port made{};
    make_vdev(made, "net_null", end.index, "size=60,copy=0");
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.6g s", static_cast<double>(frames->round_ns) / 1e9);
    made.notes.push_back("the capture's " + std::to_string(frames->frames) +
                         " frames enter in nic_rx at their own times, each copied once, again every " +
                         seconds + "; sent frames are dropped");
    note_cut_short(made, frames->cut_short);
    made.paced = std::move(frames);
    return made;
}

std::vector<port> open_pcap(std::span<const wire_end> ends) {
    const wire_end &end = ends[0];
    const rte_mempool *const pool = end.pool;
    const uint16_t queues = end.plan.port.queues;
    if (end.values.text("pace") == "capture") return {make_paced(end)};
    const std::string &path = vdev_value("replay", end.values.text("replay"));
    const capture found = look_through(path);
    if (found.longest > frame_room(end.pool))
        throw refusal("replay " + path + ": a frame of " + std::to_string(found.longest) +
                          " bytes, but the pool's mbufs hold " + std::to_string(frame_room(end.pool)),
                      "raise the MTU, or replay a capture of shorter frames");
    // the driver keeps every frame of the capture in an mbuf of the pool, once for each queue
    const uint64_t kept = found.frames * queues;
    if (kept >= pool->size)
        throw refusal("replay " + path + ": " + std::to_string(found.frames) + " frames on " +
                          std::to_string(queues) + " queues stay in " + std::to_string(kept) +
                          " mbufs; the pool has " + std::to_string(pool->size),
                      "use a larger mempool, fewer queues, or a shorter capture");

    std::string arguments = "infinite_rx=1";
    for (uint16_t q = 0; q < queues; q++) arguments += ",rx_pcap=" + path;
    port made{};
    make_vdev(made, "net_pcap", end.index, arguments);
    made.notes.push_back("net_pcap replays " + std::to_string(found.frames) +
                         " frames in a loop on every queue, copies each once, and drops sent frames");
    note_cut_short(made, found.cut_short);
    return {made};
}

}  // namespace

WT_WIRE(pcap) = {
    .about = {.abi = WT_WIRE_ABI,
              .size = sizeof(wt_wire),
              .name = "pcap",
              .help = "a capture, replayed in a loop; sent frames are dropped",
              .driver = "net_pcap; net_null at the capture's own times",
              .peer = "a capture of whole Ethernet frames",
              .copies = "one on receive",
              .flags = WT_WIRE_SERVER | WT_WIRE_SILENT | WT_WIRE_TWICE,
              .most_queues = most_queues,
              .options = options,
              .needs = needs,
              .mbufs = {.tx = 1, .frames = 1}},
    .open = open_pcap,
};

}  // namespace wt
