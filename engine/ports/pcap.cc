// net_pcap with infinite_rx: the frames of a capture, over and over; what is sent is counted and dropped.
#include <pcap/pcap.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/refusal.h"
#include "ports/kinds.h"

namespace wt {

namespace {

constexpr uint16_t most_queues = 16;  // RTE_PMD_PCAP_MAX_QUEUES, which no header shows

struct capture {
    uint64_t frames = 0, cut_short = 0;
    uint32_t longest = 0;
};

// Reads the whole capture, so that the driver finds nothing to refuse in it.
capture look_through(const std::string &path) {
    const std::string who = "replay " + path + ": ";
    const auto close = [](std::FILE *f) { std::fclose(f); };
    std::unique_ptr<std::FILE, decltype(close)> opened(std::fopen(path.c_str(), "rb"), close);
    if (!opened)
        throw refusal(who + std::strerror(errno), "name a pcap or pcapng file that this user can read");

    char why[PCAP_ERRBUF_SIZE] = "";
    const auto end = [](pcap_t *p) { pcap_close(p); };
    const std::unique_ptr<pcap_t, decltype(end)> file(pcap_fopen_offline(opened.get(), why), end);
    if (!file) throw refusal(who + "not a capture: " + why, "name a pcap or pcapng file");
    opened.release();  // pcap_close closes it
    if (pcap_datalink(file.get()) != DLT_EN10MB) {
        const char *name = pcap_datalink_val_to_name(pcap_datalink(file.get()));
        throw refusal(who + "holds " + (name ? name : "unknown") + " frames, not Ethernet ones");
    }

    capture found;
    pcap_pkthdr *header;
    const u_char *bytes;
    int got;
    while ((got = pcap_next_ex(file.get(), &header, &bytes)) == 1) {
        found.frames++;
        found.longest = std::max<uint32_t>(found.longest, header->caplen);
        found.cut_short += header->caplen < header->len;
    }
    if (got != PCAP_ERROR_BREAK)
        throw refusal(who + "damaged after frame " + std::to_string(found.frames) + ": " +
                      pcap_geterr(file.get()));
    if (found.frames == 0) throw refusal(who + "holds no frame");
    return found;
}

}  // namespace

port make_pcap(const endpoint_plan &e, size_t index, rte_mempool *pool) {
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
    if (found.cut_short)
        made.notes.push_back(std::to_string(found.cut_short) +
                             " frames of the capture were cut short when it was taken");
    return made;
}

}  // namespace wt
