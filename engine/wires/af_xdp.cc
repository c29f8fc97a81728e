// net_af_xdp: a kernel interface through XDP sockets, one a queue. The kernel's network stack sees none of
// its frames while we run.
//
// The driver hangs its XDP program on the interface and takes it down when the port is closed. One that is
// killed leaves it there: the supervisor removes it.
#include <dlfcn.h>
#include <linux/ethtool.h>
#include <linux/if_xdp.h>
#include <linux/sockios.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "core/refusal.h"
#include "core/vlan.h"
#include "wires/af_xdp_rings.h"
#include "wires/device.h"
#include "wires/interface.h"
#include "wires/wire.h"

namespace wt {

namespace {

namespace fs = std::filesystem;

constexpr uint32_t xdp_headroom = 256;  // XDP_PACKET_HEADROOM of linux/bpf.h
// XDP's headroom, an Ethernet header and an IP packet share what an mbuf has behind its own headroom
constexpr uint32_t most_mtu = 2048 - xdp_headroom - sizeof(rte_ether_hdr);
// the driver (22.11) keeps a full fill ring and a full completion ring a queue, beside its descriptors
constexpr uint32_t kept_in_rings = 2 * 2048;

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
    {.kind = WT_NEEDS_ROOT, .why = "loads an XDP program and opens XDP sockets"},
    {.kind = WT_NEEDS_INTERFACE, .option = "interface"},
    {.kind = WT_NEEDS_NO_XDP, .option = "interface"},
    {},
};

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
        throw refusal(
            std::string("af_xdp wire: the kernel does not create an XDP socket: ") + std::strerror(errno),
            "use a kernel with CONFIG_XDP_SOCKETS, or the wire \"af_packet\"");
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
                          " queue(s) in it, the plan needs " + std::to_string(queues),
                      "use fewer dispatchers, or on a NIC that can: ethtool -L " + name + " combined " +
                          std::to_string(queues));
    if (has.receiving > queues)
        made.notes.push_back("interface " + name + " receives on " + std::to_string(has.receiving) +
                             " queues: frames of those from " + std::to_string(queues) +
                             " on go to the kernel, not to the engine");
}

void check_mbufs(const endpoint_plan &e, const rte_mempool *pool) {
    const uint32_t room = rte_pktmbuf_data_room_size(const_cast<rte_mempool *>(pool));
    const uint32_t needed = RTE_PKTMBUF_HEADROOM + xdp_headroom + uint32_t{sizeof(rte_ether_hdr)} +
                            (e.vlan ? vlan_tag_bytes : 0) + e.mtu;
    if (needed > room)
        throw refusal("af_xdp wire: at an MTU of " + std::to_string(e.mtu) + " an mbuf needs " +
                          std::to_string(needed) + " bytes with XDP's headroom, the pool's have " +
                          std::to_string(room),
                      "use a lower MTU or a larger data room");
    const uint32_t whole = rte_mempool_calc_obj_size(pool->elt_size, pool->flags, nullptr);
    if (whole > static_cast<uint32_t>(sysconf(_SC_PAGESIZE)))
        throw refusal("af_xdp wire: mbufs of " + std::to_string(whole) +
                          " bytes, but the kernel accepts none larger than a page",
                      "use a lower MTU or a smaller data room");
}

// libxdp hangs its default program up in native mode alone, and many of the kernel's drivers have none. Named
// to net_af_xdp, the same program goes where the kernel chooses: native where the driver can, else generic.
// Debian and Ubuntu have it beside the library, which the driver has loaded.
std::string program_for_any_driver() {
    void *const libxdp = dlopen("libxdp.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (libxdp == nullptr) return "";
    Dl_info found{};
    const bool is_there = dladdr(dlsym(libxdp, "xsk_socket__create"), &found) != 0;
    dlclose(libxdp);
    std::error_code none;
    const fs::path library = is_there ? fs::canonical(found.dli_fname, none) : fs::path();
    const fs::path program = library.parent_path() / "bpf/xsk_def_xdp_prog.o";
    return fs::exists(program, none) ? ",xdp_prog=" + program.string() : "";
}

std::vector<port> open_af_xdp(std::span<const wire_end> ends) {
    const wire_end &end = ends[0];
    const endpoint_plan &e = end.plan;
    const std::string &name = vdev_value("interface", end.values.text("interface"));
    check_rights();
    check_kernel();
    const auto socket = std::make_shared<packet_socket>();
    if (socket->fd < 0) throw refusal(std::string("af_xdp wire: no packet socket: ") + std::strerror(errno));
    const unsigned kernel_index = check_interface(*socket, name, e);
    port made{.interface = name};
    check_queues(*socket, name, e.port.queues, made);
    check_mbufs(e, end.pool);

    // libxdp's dispatcher would leave pins in bpffs behind a process that is killed
    ::setenv("LIBXDP_SKIP_DISPATCHER", "1", 1);
    make_vdev(made, "net_af_xdp", end.index,
              "iface=" + name + ",queue_count=" + std::to_string(e.port.queues) + program_for_any_driver());
    take_all_frames(*socket, name, kernel_index);
    made.keeps = socket;
    made.notes.push_back(
        "net_af_xdp: the kernel copies each frame if the interface has no zero-copy"
        " (a veth has none), and is called for each poll that finds nothing and each burst that is sent");
    if (e.port.rx_descriptors != e.port.tx_descriptors)
        made.notes.push_back("net_af_xdp takes the rx descriptors for both directions");
    if (const std::string note = veth_note(*socket, name); !note.empty()) made.notes.push_back(note);
    return {made};
}

// From here on the rings are watched, so that what the driver keeps can be given back.
void start_af_xdp(port &made, const wire_end &end) {
    start_device(made);
    uint16_t rx = end.plan.port.rx_descriptors, tx = end.plan.port.tx_descriptors;
    check_device(made, rte_eth_dev_adjust_nb_rx_tx_desc(made.id, &rx, &tx), "its descriptors");
    const auto rings = std::make_shared<watched_rings>(made.keeps, end.pool, rx);
    if (rings->unseen())
        made.notes.push_back(
            "this kernel shows the rings of XDP sockets only to their driver (before Linux 6.4): mbufs that "
            "are not free in the end count as the kernel's");
    made.keeps = rings;
}

}  // namespace

WT_WIRE(af_xdp) = {
    .about = {.abi = WT_WIRE_ABI,
              .size = sizeof(wt_wire),
              .name = "af_xdp",
              .help = "a kernel interface by XDP, before the kernel's network stack",
              .driver = "net_af_xdp",
              .peer = "the kernel, or what is behind an interface",
              .copies = "one each way in the kernel if the interface has no zero-copy",
              .flags = WT_WIRE_SERVER | WT_WIRE_CLIENT | WT_WIRE_FOREIGN_PEER | WT_WIRE_LEAVES_MAC |
                       WT_WIRE_DENSE_POOL | WT_WIRE_OWN_MAC,
              .most_queues = 64,
              .most_mtu = most_mtu,
              .mtu_why = "too much for XDP: its headroom and a frame share an mbuf of 2 KiB",
              .options = options,
              .needs = needs,
              .mbufs = {.fixed = kept_in_rings, .rx = 1}},
    .open = open_af_xdp,
    .node = [](const wire_values &values) { return node_of_interface(values.text("interface")); },
    .start = start_af_xdp,
    .await_link = await_carrier,
    .operations = &interface_operations,
};

}  // namespace wt
