// A kernel interface that an endpoint opens: looked at, never changed. A MAC, MTU or flag that we set would
// outlive the run.
#pragma once

#include <net/if.h>

#include <string>

#include "plan/plan.h"
#include "wires/port.h"

namespace wt {

// A packet socket bound to nothing: it takes no frames by itself.
struct packet_socket {
    packet_socket();
    ~packet_socket();
    packet_socket(const packet_socket &) = delete;
    packet_socket &operator=(const packet_socket &) = delete;
    int fd;
};

// One ioctl about an interface; the response is in `request`.
struct interface_query {
    interface_query(int fd, const std::string &name);
    bool ask(unsigned long what);
    int fd;
    ifreq request{};
};

// Refuses an interface that is not there, is down, or has a smaller MTU than the endpoint, with the `ip`
// command that mends it. Returns its index.
unsigned check_interface(const packet_socket &socket, const std::string &name, const endpoint_plan &e);

// What is asked of a port on an interface: its link is the interface's carrier, for net_af_packet and
// net_af_xdp say "up" whatever is at the other end. `port::interface` names it.
extern const port_operations interface_operations;

// Refuses an interface that has had no carrier for 10 s.
void await_carrier(const port &made, uint32_t looks);

// The NUMA node of the NIC behind an interface, -1 where there is none. `sysfs`: where the kernel's tree is
// mounted.
int node_of_interface(const std::string &name, const std::string &sysfs = "/sys");

// Frames to any MAC come in while the socket lives: unlike a flag of the interface, that ends with a process
// that is killed.
void take_all_frames(const packet_socket &socket, const std::string &name, unsigned index);

// What a reader must know of UDP checksums, empty where the interface is no veth.
std::string veth_note(const packet_socket &socket, const std::string &name);

}  // namespace wt
