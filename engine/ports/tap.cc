// net_tap: an interface that the engine makes, with the kernel at its other end. It goes with the process.
#include <fcntl.h>
#include <linux/sockios.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/refusal.h"
#include "ports/interface.h"
#include "ports/kinds.h"

namespace wt {

namespace {

constexpr uint16_t most_queues = 16;  // TAP_MAX_QUEUES, which no header shows
constexpr const char *device = "/dev/net/tun";

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

}  // namespace

port make_tap(const endpoint_plan &e, size_t index, rte_mempool *pool) {
    const std::string &name = vdev_value("interface", *e.port.interface);
    if (name.size() >= IFNAMSIZ)
        throw refusal("interface \"" + name + "\" is longer than the kernel's " +
                      std::to_string(IFNAMSIZ - 1) + " letters");
    if (if_nametoindex(name.c_str()) != 0)
        throw refusal("interface \"" + name + "\" exists: a tap wire makes its own",
                      "another name, or \"ip link delete " + name + "\" if nobody needs it");
    if (e.port.queues > most_queues)
        throw refusal("tap wire: net_tap has at most " + std::to_string(most_queues) + " queues, not " +
                      std::to_string(e.port.queues));
    const uint32_t frame = e.mtu + uint32_t{sizeof(rte_ether_hdr)};
    if (frame > frame_room(pool))
        throw refusal("tap wire: frames of " + std::to_string(frame) + " bytes, but the pool's mbufs hold " +
                          std::to_string(frame_room(pool)),
                      "a lower MTU, or a larger data room");
    check_device();
    port made{.kind = port_kind::tap};
    make_vdev(made, "net_tap", index, "iface=" + name);
    set_mtu(name, e);
    made.notes.push_back("net_tap makes the interface " + name +
                         " for the kernel's end: a copy and a system call for every frame, each way");
    if (e.port.queues > 1)
        made.notes.push_back(
            "the kernel chooses the queue of a flow by its hash: what it brings to another"
            " queue than its UDP port's is dropped as misdirected");
    return made;
}

}  // namespace wt
