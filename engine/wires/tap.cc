// net_tap: an interface that the engine makes, with the kernel at its other end. It goes with the process.
#include <fcntl.h>
#include <linux/sockios.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/refusal.h"
#include "core/vlan.h"
#include "wires/device.h"
#include "wires/interface.h"
#include "wires/offloads.h"
#include "wires/wire.h"

namespace wt {

namespace {

constexpr uint16_t most_queues = 16;  // TAP_MAX_QUEUES, which no header shows
constexpr const char *device = "/dev/net/tun";

constexpr wt_wire_option options[] = {
    {.name = "interface",
     .help = "name of the interface to create",
     .example = "wt-tap",
     .most = IFNAMSIZ - 1,
     .type = WT_WIRE_INTERFACE,
     .scope = WT_WIRE_OF_ENDPOINT,
     .flags = WT_WIRE_REQUIRED},
    {.name = "offloads",
     .fallback = "",
     .choices = "rx_checksum|tx_checksum",
     .help = "requested from net_tap, which computes checksums in software",
     .type = WT_WIRE_WORDS,
     .scope = WT_WIRE_OF_ENDPOINT},
    {},
};
constexpr wt_wire_need needs[] = {
    {.kind = WT_NEEDS_ROOT, .why = "creates a network interface"},
    {.kind = WT_NEEDS_NO_INTERFACE, .option = "interface"},
    {},
};

void check_device() {
    const int fd = ::open(device, O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        ::close(fd);
        return;
    }
    throw refusal(std::string("tap wire: ") + device + ": " + std::strerror(errno),
                  errno == EACCES || errno == EPERM ? "run as root" : "modprobe tun");
}

// The driver makes the interface with the kernel's own MTU. It is ours, so that we may change it.
void set_mtu(const std::string &name, const endpoint_plan &e) {
    const packet_socket socket;
    interface_query mtu(socket.fd, name);
    mtu.request.ifr_mtu = e.mtu;
    if (!mtu.ask(SIOCSIFMTU))
        throw refusal("interface " + name + ": an MTU of " + std::to_string(e.mtu) + ": " +
                      std::strerror(errno));
}

std::vector<port> open_tap(std::span<const wire_end> ends) {
    const wire_end &end = ends[0];
    const endpoint_plan &e = end.plan;
    const std::string &name = vdev_value("interface", end.values.text("interface"));
    if (if_nametoindex(name.c_str()) != 0)
        throw refusal("interface \"" + name + "\" exists: a tap wire creates its own",
                      "use another name, or \"ip link delete " + name + "\" if nothing uses it");
    const uint32_t frame = e.mtu + uint32_t{sizeof(rte_ether_hdr)} + (e.vlan ? vlan_tag_bytes : 0);
    if (frame > frame_room(end.pool))
        throw refusal("tap wire: frames of " + std::to_string(frame) + " bytes, but the pool's mbufs hold " +
                          std::to_string(frame_room(end.pool)),
                      "use a lower MTU or a larger data room");
    check_device();
    port made{};
    make_vdev(made, "net_tap", end.index, "iface=" + name);
    set_mtu(name, e);
    made.notes.push_back("net_tap creates the interface " + name +
                         " for the kernel's end: a copy and a system call for every frame, each way");
    if (e.port.queues > 1)
        made.notes.push_back(
            "the kernel chooses the queue of a flow by its hash: what it brings to another"
            " queue than its UDP port's is dropped as misdirected");
    return {made};
}

void configure_tap(port &made, const wire_end &end, const rte_eth_dev_info &info, rte_eth_conf &conf) {
    if (const auto asked = end.values.words("offloads"); !asked.empty())
        ask_for_offloads(made, end.plan, asked, info, conf);
}

}  // namespace

WT_WIRE(tap) = {
    .about = {.abi = WT_WIRE_ABI,
              .size = sizeof(wt_wire),
              .name = "tap",
              .help = "an interface that the engine creates, with the kernel at its other end",
              .driver = "net_tap",
              .peer = "the kernel",
              .copies = "one, and a system call, for every frame each way",
              .flags = WT_WIRE_SERVER | WT_WIRE_CLIENT | WT_WIRE_FOREIGN_PEER | WT_WIRE_LEAVES_MAC,
              .most_queues = most_queues,
              .options = options,
              .needs = needs,
              .mbufs = {.rx = 1}},  // one waits in each descriptor
    .open = open_tap,
    .configure = configure_tap,
};

}  // namespace wt
