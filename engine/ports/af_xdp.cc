// net_af_xdp: a kernel interface through XDP sockets, one a queue. The kernel's network stack sees none of
// its frames while we fly.
//
// The driver hangs its XDP program on the interface and takes it down when the port is closed. One that is
// killed leaves it there: the supervisor removes it.
#include <linux/ethtool.h>
#include <linux/if_xdp.h>
#include <linux/sockios.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>

#include "core/refusal.h"
#include "ports/af_xdp_rings.h"
#include "ports/interface.h"
#include "ports/kinds.h"

namespace wt {

namespace {

constexpr uint32_t xdp_headroom = 256;  // XDP_PACKET_HEADROOM of linux/bpf.h

struct right {
    unsigned bit;  // of linux/capability.h
    const char *name;
};
// for the sockets; to hang up the program; to load it; to keep the packets' memory in RAM
constexpr right rights[] = {
    {13, "CAP_NET_RAW"}, {12, "CAP_NET_ADMIN"}, {39, "CAP_BPF"}, {14, "CAP_IPC_LOCK"}};

uint64_t our_rights() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("CapEff:", 0) == 0) return std::strtoull(line.c_str() + 7, nullptr, 16);
    return 0;
}

void check_rights() {
    constexpr uint64_t sys_admin = uint64_t{1} << 21;  // stands for CAP_BPF on kernels that have none
    const uint64_t has = our_rights();
    std::string missing;
    for (const right &r : rights) {
        if (has >> r.bit & 1 || (r.bit == 39 && has & sys_admin)) continue;
        missing += (missing.empty() ? "" : ", ") + std::string(r.name);
    }
    if (!missing.empty()) throw refusal("af_xdp wire: this user does not have " + missing, "run as root");
}

void check_kernel() {
    const int fd = ::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0)
        throw refusal(std::string("af_xdp wire: the kernel gives no XDP socket: ") + std::strerror(errno),
                      "a kernel with CONFIG_XDP_SOCKETS, or the wire \"af_packet\"");
    ::close(fd);
}

struct channels {
    uint32_t ours = 1, receiving = 1;  // that the driver can open; that frames come in on
};

channels channels_of(const packet_socket &socket, const std::string &name) {
    interface_query query(socket.fd, name);
    ethtool_channels said{};
    said.cmd = ETHTOOL_GCHANNELS;
    query.request.ifr_data = reinterpret_cast<char *>(&said);
    if (!query.ask(SIOCETHTOOL)) return {};
    // as the driver counts them: an interface without combined channels has one
    return {std::max(1u, said.combined_count), std::max(1u, said.combined_count + said.rx_count)};
}

void check_queues(const packet_socket &socket, const std::string &name, uint16_t queues, port &made) {
    const channels has = channels_of(socket, name);
    if (queues > has.ours)
        throw refusal("interface " + name + ": net_af_xdp finds " + std::to_string(has.ours) +
                          " queue(s) in it, the plan wants " + std::to_string(queues),
                      "fewer dispatchers, or on a NIC that can: ethtool -L " + name + " combined " +
                          std::to_string(queues));
    if (has.receiving > queues)
        made.notes.push_back("interface " + name + " receives on " + std::to_string(has.receiving) +
                             " queues: frames of those from " + std::to_string(queues) +
                             " on go to the kernel, not to the engine");
}

void check_mbufs(const endpoint_plan &e, const rte_mempool *pool) {
    const uint32_t room = rte_pktmbuf_data_room_size(const_cast<rte_mempool *>(pool));
    const uint32_t needed = RTE_PKTMBUF_HEADROOM + xdp_headroom + uint32_t{sizeof(rte_ether_hdr)} + e.mtu;
    if (needed > room)
        throw refusal("af_xdp wire: at an MTU of " + std::to_string(e.mtu) + " an mbuf needs " +
                          std::to_string(needed) + " bytes with XDP's headroom, the pool's have " +
                          std::to_string(room),
                      "a lower MTU, or a larger data room");
    const uint32_t whole = rte_mempool_calc_obj_size(pool->elt_size, pool->flags, nullptr);
    if (whole > static_cast<uint32_t>(sysconf(_SC_PAGESIZE)))
        throw refusal("af_xdp wire: mbufs of " + std::to_string(whole) +
                          " bytes, but the kernel takes none above a page",
                      "a lower MTU, or a smaller data room");
}

}  // namespace

port make_af_xdp(const endpoint_plan &e, size_t index, rte_mempool *pool) {
    const std::string &name = vdev_value("interface", *e.port.interface);
    check_rights();
    check_kernel();
    const auto socket = std::make_shared<packet_socket>();
    if (socket->fd < 0) throw refusal(std::string("af_xdp wire: no packet socket: ") + std::strerror(errno));
    const unsigned kernel_index = check_interface(*socket, name, e);
    port made{.kind = port_kind::af_xdp};
    check_queues(*socket, name, e.port.queues, made);
    check_mbufs(e, pool);

    // libxdp's dispatcher would leave pins in bpffs behind a process that is killed
    ::setenv("LIBXDP_SKIP_DISPATCHER", "1", 1);
    make_vdev(made, "net_af_xdp", index, "iface=" + name + ",queue_count=" + std::to_string(e.port.queues));
    take_all_frames(*socket, name, kernel_index);
    made.keeps = socket;
    made.notes.push_back(
        "net_af_xdp: the kernel copies each frame where the interface has no zero-copy"
        " (a veth has none), and is called for each poll that finds nothing and each burst that is sent");
    if (e.port.rx_descriptors != e.port.tx_descriptors)
        made.notes.push_back("net_af_xdp takes the rx descriptors for both directions");
    if (const std::string note = veth_note(*socket, name); !note.empty()) made.notes.push_back(note);
    return made;
}

void watch_rings(port &made, rte_mempool *pool) {
    made.keeps = std::make_shared<watched_rings>(made.keeps, pool);
}

}  // namespace wt
