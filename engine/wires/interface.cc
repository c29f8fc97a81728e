#include "wires/interface.h"

#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/refusal.h"
#include "wires/device.h"

namespace wt {

namespace {

constexpr uint32_t looks_for_a_carrier = 1000;  // 10 s: autonegotiation takes seconds

link_state carrier_of(const port &p) {
    const packet_socket socket;
    interface_query flags(socket.fd, p.interface);
    if (!flags.ask(SIOCGIFFLAGS)) return errno == ENODEV ? link_state::down : link_state::unknown;
    return flags.request.ifr_flags & IFF_RUNNING ? link_state::up : link_state::down;
}

std::string words_on_carrier(const port &p) {
    return "interface " + p.interface + (carrier_of(p) == link_state::up ? ": link up" : ": link down");
}

}  // namespace

const port_operations interface_operations = {
    .link = carrier_of,
    .words = words_on_carrier,
    .missed = missed_by_device,
    .close = close_device,
};

void await_carrier(const port &made, uint32_t looks) {
    if (looks == looks_for_a_carrier)
        throw refusal("interface " + made.interface + ": its link is still down after 10 s",
                      "connect a cable, or set the other end up: ip link set dev <its name> up");
}

packet_socket::packet_socket() : fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {}

packet_socket::~packet_socket() {
    if (fd >= 0) ::close(fd);
}

interface_query::interface_query(int fd, const std::string &name) : fd(fd) {
    std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
}

bool interface_query::ask(unsigned long what) { return ioctl(fd, what, &request) == 0; }

unsigned check_interface(const packet_socket &socket, const std::string &name, const endpoint_plan &e) {
    const unsigned index = if_nametoindex(name.c_str());
    if (index == 0)
        throw refusal("interface \"" + name + "\" does not exist in this network namespace",
                      "\"ip link\" lists the interfaces");
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
    return index;
}

int node_of_interface(const std::string &name, const std::string &sysfs) {
    // the device of a virtio interface is on a bus of its own, and the NIC on the PCI bus is above it
    for (const char *of_nic : {"/device/numa_node", "/device/../numa_node"}) {
        std::ifstream file(sysfs + "/class/net/" + name + of_nic);
        if (int node; file >> node) return node;
    }
    return -1;
}

void take_all_frames(const packet_socket &socket, const std::string &name, unsigned index) {
    packet_mreq all{};
    all.mr_ifindex = static_cast<int>(index);
    all.mr_type = PACKET_MR_PROMISC;
    if (setsockopt(socket.fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) < 0)
        throw refusal("interface " + name +
                      ": cannot receive frames to another MAC: " + std::strerror(errno));
}

std::string veth_note(const packet_socket &socket, const std::string &name) {
    interface_query query(socket.fd, name);
    ethtool_drvinfo driver{};
    driver.cmd = ETHTOOL_GDRVINFO;
    query.request.ifr_data = reinterpret_cast<char *>(&driver);
    if (!query.ask(SIOCETHTOOL) || std::strcmp(driver.driver, "veth") != 0) return "";
    return name +
           " is a veth: UDP from the kernel at its other end comes with an unfinished checksum"
           " unless that end has \"ethtool -K <its name> tx off\"";
}

}  // namespace wt
