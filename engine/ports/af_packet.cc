// net_af_packet: a kernel interface through a packet socket.
//
// The interface stays as the user made it: no MAC, MTU or flag of it is changed, because that would outlive
// the run.
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "core/refusal.h"
#include "ports/interface.h"
#include "ports/kinds.h"

namespace wt {

namespace {

// The shared ring of a packet socket (packet_mmap): frames of `frame` bytes in blocks of `block`, which are
// whole pages.
struct mapped_ring {
    uint32_t frame, block, frames;
};

mapped_ring ring_for(const endpoint_plan &e, uint32_t page) {
    // TPACKET_V2 puts the Ethernet header 66 bytes into its frame
    constexpr uint32_t before_mtu = 66 + 14, step = 128;
    mapped_ring r;
    r.frame = (e.mtu + before_mtu + step - 1) / step * step;
    r.block =
        std::lcm(r.frame, page);  // the driver lays frames end to end, so that none may straddle two blocks
    const uint32_t in_block = r.block / r.frame;
    const uint32_t asked = std::max(e.port.rx_descriptors, e.port.tx_descriptors);
    r.frames = (asked + in_block - 1) / in_block * in_block;
    return r;
}

}  // namespace

port make_af_packet(const endpoint_plan &e, size_t index, rte_mempool *pool) {
    const std::string &name = vdev_value("interface", *e.port.interface);
    const auto socket = std::make_shared<packet_socket>();
    if (socket->fd < 0 && errno == EPERM)
        throw refusal("af_packet wire: a packet socket needs CAP_NET_RAW, which this user does not have",
                      "run as root");
    if (socket->fd < 0)
        throw refusal(std::string("af_packet wire: no packet socket: ") + std::strerror(errno));
    const unsigned kernel_index = check_interface(*socket, name, e);

    const mapped_ring r = ring_for(e, static_cast<uint32_t>(sysconf(_SC_PAGESIZE)));
    const uint32_t needed = r.frame - (TPACKET2_HDRLEN - sizeof(sockaddr_ll));
    if (needed > frame_room(pool))
        throw refusal("af_packet wire: at an MTU of " + std::to_string(e.mtu) +
                          " the driver wants mbufs that hold " + std::to_string(needed) +
                          " bytes, the pool's hold " + std::to_string(frame_room(pool)),
                      "a lower MTU, or a larger data room");
    port made{.kind = port_kind::af_packet};
    make_vdev(made, "net_af_packet", index,
              "iface=" + name + ",qpairs=" + std::to_string(e.port.queues) +
                  ",blocksz=" + std::to_string(r.block) + ",framesz=" + std::to_string(r.frame) +
                  ",framecnt=" + std::to_string(r.frames));
    take_all_frames(*socket, name, kernel_index);
    made.keeps = socket;
    made.notes.push_back(
        "net_af_packet goes through the kernel: a copy each way, a system call for each burst that is sent");
    if (r.frames != e.port.rx_descriptors || r.frames != e.port.tx_descriptors)
        made.notes.push_back("net_af_packet has " + std::to_string(r.frames) +
                             " frames for each queue and direction, where " +
                             std::to_string(e.port.rx_descriptors) + " and " +
                             std::to_string(e.port.tx_descriptors) + " descriptors were asked for");
    if (const std::string note = veth_note(*socket, name); !note.empty()) made.notes.push_back(note);
    return made;
}

}  // namespace wt
