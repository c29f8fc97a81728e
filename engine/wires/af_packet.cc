// net_af_packet: a kernel interface through a packet socket.
//
// The interface stays as the user made it: no MAC, MTU or flag of it is changed, because that would outlive
// the run.
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "core/refusal.h"
#include "core/vlan.h"
#include "wires/device.h"
#include "wires/interface.h"
#include "wires/wire.h"

namespace wt {

namespace {

constexpr wt_wire_option options[] = {
    {.name = "interface",
     .help = "the kernel interface",
     .example = "veth0",
     .most = IFNAMSIZ - 1,
     .type = WT_WIRE_INTERFACE,
     .scope = WT_WIRE_OF_ENDPOINT,
     .flags = WT_WIRE_REQUIRED},
    {},
};
constexpr wt_wire_need needs[] = {
    {.kind = WT_NEEDS_ROOT, .why = "opens packet sockets"},
    {.kind = WT_NEEDS_INTERFACE, .option = "interface"},
    {},
};

// The shared ring of a packet socket (packet_mmap): frames of `frame` bytes in blocks of `block`, which are
// whole pages.
struct mapped_ring {
    uint32_t frame, block, frames;
};

mapped_ring ring_for(const endpoint_plan &e, uint32_t page) {
    // TPACKET_V2 puts the Ethernet header 66 bytes into its frame; there may be a tag behind it
    constexpr uint32_t before_mtu = 66 + 14 + vlan_tag_bytes, step = 128;
    mapped_ring r;
    r.frame = (e.mtu + before_mtu + step - 1) / step * step;
    r.block =
        std::lcm(r.frame, page);  // the driver lays frames end to end, so that none may straddle two blocks
    const uint32_t in_block = r.block / r.frame;
    const uint32_t asked = std::max(e.port.rx_descriptors, e.port.tx_descriptors);
    r.frames = (asked + in_block - 1) / in_block * in_block;
    return r;
}

// The driver numbers the fanout group of its sockets by process and interface, so that those of two programs
// in one network namespace can be the same number; the kernel refuses the second.
void check_fanout_group(unsigned interface) {
    const int driver_type = PACKET_FANOUT_HASH | PACKET_FANOUT_FLAG_DEFRAG | PACKET_FANOUT_FLAG_ROLLOVER;
    const unsigned group = (static_cast<unsigned>(getpid()) ^ interface) & 0xffff;
    const unsigned argument = group | static_cast<unsigned>(driver_type) << 16;
    const packet_socket trial;
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(interface);
    if (bind(trial.fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0 &&
        setsockopt(trial.fd, SOL_PACKET, PACKET_FANOUT, &argument, sizeof argument) != 0 && errno == EINVAL)
        throw refusal("af_packet wire: another program has the fanout group " + std::to_string(group) +
                          ", which net_af_packet makes of its process and interface",
                      "start again: the next process has another number");
}

std::vector<port> open_af_packet(std::span<const wire_end> ends) {
    const wire_end &end = ends[0];
    const endpoint_plan &e = end.plan;
    const std::string &name = vdev_value("interface", end.values.text("interface"));
    const auto socket = std::make_shared<packet_socket>();
    if (socket->fd < 0 && errno == EPERM)
        throw refusal("af_packet wire: a packet socket needs CAP_NET_RAW, which this user does not have",
                      "run as root");
    if (socket->fd < 0)
        throw refusal(std::string("af_packet wire: no packet socket: ") + std::strerror(errno));
    const unsigned kernel_index = check_interface(*socket, name, e);
    check_fanout_group(kernel_index);

    const mapped_ring r = ring_for(e, static_cast<uint32_t>(sysconf(_SC_PAGESIZE)));
    const uint32_t needed = r.frame - (TPACKET2_HDRLEN - sizeof(sockaddr_ll));
    if (needed > frame_room(end.pool))
        throw refusal("af_packet wire: at an MTU of " + std::to_string(e.mtu) +
                          " the driver needs mbufs that hold " + std::to_string(needed) +
                          " bytes, the pool's hold " + std::to_string(frame_room(end.pool)),
                      "use a lower MTU or a larger data room");
    port made{.interface = name};
    make_vdev(made, "net_af_packet", end.index,
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
    return {made};
}

}  // namespace

WT_WIRE(af_packet) = {
    .about = {.abi = WT_WIRE_ABI,
              .size = sizeof(wt_wire),
              .name = "af_packet",
              .help = "a kernel interface by a packet socket",
              .driver = "net_af_packet",
              .peer = "the kernel, or what is behind an interface",
              .copies = "one each way, and a system call for each burst that is sent",
              .flags = WT_WIRE_SERVER | WT_WIRE_CLIENT | WT_WIRE_FOREIGN_PEER | WT_WIRE_LEAVES_MAC |
                       WT_WIRE_OWN_MAC,
              .most_queues = 16,  // RTE_PMD_AF_PACKET_MAX_RINGS, which no header shows
              .options = options,
              .needs = needs,
              .mbufs = {.tx = 1}},
    .open = open_af_packet,
    .node = [](const wire_values &values) { return node_of_interface(values.text("interface")); },
    .await_link = await_carrier,
    .operations = &interface_operations,
};

}  // namespace wt
