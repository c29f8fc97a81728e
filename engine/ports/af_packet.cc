// net_af_packet: a kernel interface through a packet socket.
//
// The interface stays as the user made it: no MAC, MTU or flag of it is changed, because that would outlive
// the run.
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "core/refusal.h"
#include "ports/kinds.h"

namespace wt {

namespace {

struct packet_socket {
    packet_socket() : fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {}
    ~packet_socket() {
        if (fd >= 0) ::close(fd);
    }
    packet_socket(const packet_socket &) = delete;
    packet_socket &operator=(const packet_socket &) = delete;
    int fd;
};

struct interface_query {
    interface_query(int fd, const std::string &name) : fd(fd) {
        std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
    }
    bool ask(unsigned long what) { return ioctl(fd, what, &request) == 0; }
    int fd;
    ifreq request{};
};

void check_interface(const packet_socket &socket, const std::string &name, const endpoint_plan &e) {
    const std::string who = "interface " + name + ": ";
    interface_query flags(socket.fd, name), mtu(socket.fd, name);
    if (!flags.ask(SIOCGIFFLAGS)) throw refusal(who + std::strerror(errno));
    if (!(flags.request.ifr_flags & IFF_UP))
        throw refusal(who + "is down", "ip link set dev " + name + " up");
    if (!mtu.ask(SIOCGIFMTU)) throw refusal(who + std::strerror(errno));
    if (mtu.request.ifr_mtu < e.mtu)
        throw refusal(who + "its MTU is " + std::to_string(mtu.request.ifr_mtu) + ", the plan's is " +
                          std::to_string(e.mtu),
                      "ip link set dev " + name + " mtu " + std::to_string(e.mtu));
}

// Frames to any MAC come in while the socket lives: unlike a flag of the interface, that ends with a process
// that is killed.
void take_all_frames(const packet_socket &socket, const std::string &name, unsigned index) {
    packet_mreq all{};
    all.mr_ifindex = static_cast<int>(index);
    all.mr_type = PACKET_MR_PROMISC;
    if (setsockopt(socket.fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) < 0)
        throw refusal("interface " + name + ": cannot take frames to another MAC: " + std::strerror(errno));
}

bool is_veth(const packet_socket &socket, const std::string &name) {
    interface_query query(socket.fd, name);
    ethtool_drvinfo driver{};
    driver.cmd = ETHTOOL_GDRVINFO;
    query.request.ifr_data = reinterpret_cast<char *>(&driver);
    return query.ask(SIOCETHTOOL) && std::strcmp(driver.driver, "veth") == 0;
}

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
    const unsigned kernel_index = if_nametoindex(name.c_str());
    if (kernel_index == 0)
        throw refusal("interface \"" + name + "\" does not exist in this network namespace",
                      "\"ip link\" lists those that do");
    check_interface(*socket, name, e);

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
    if (is_veth(*socket, name))
        made.notes.push_back(
            name +
            " is a veth: UDP from the kernel at its other end comes with an unfinished checksum"
            " unless that end has \"ethtool -K <its name> tx off\"");
    return made;
}

}  // namespace wt
