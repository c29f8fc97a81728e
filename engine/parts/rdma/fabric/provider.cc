#include "parts/rdma/fabric/provider.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>
#include <string_view>

#include "core/refusal.h"
#include "core/unguessable.h"
#include "parts/rdma/address.h"

namespace wt {

namespace {

bool is_by_name(const std::string &provider) { return provider == "shm"; }

// An abstract Unix socket, which goes with the process; -1 where another process has it.
int claim_name(const std::string &name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const size_t bytes = std::min(name.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, name.data(), bytes);
    const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
    if (::bind(fd, reinterpret_cast<const sockaddr *>(&address), length) == 0) return fd;
    ::close(fd);
    return -1;
}

fi_ep_type endpoint_type(rdma_type type) {
    switch (type) {
        case rdma_type::rc: return FI_EP_MSG;
        case rdma_type::ud: return FI_EP_DGRAM;
        case rdma_type::rdm: return FI_EP_RDM;
    }
    __builtin_unreachable();
}

constexpr std::string_view name_scheme = "fi_shm://";

// One of a host's shared memory. Two runs with the same addresses exclude each other, as with sockets.
std::string name_in_memory(uint32_t ip, uint16_t port) {
    return std::string(name_scheme) + "windtunnel-" + dotted(ip) + "-" + std::to_string(port);
}

std::string file_of(const fabric_address &at) {
    return std::string("/dev/shm/") + (reinterpret_cast<const char *>(at.bytes.data()) + name_scheme.size());
}

// The memory of a name, if there is some. One look: what others make and remove may be there at the next
// one. Throws refusal if it is not this user's alone.
std::optional<struct stat> memory_of(const fabric_address &at) {
    const std::string file = file_of(at);
    struct stat there{};
    if (::lstat(file.c_str(), &there) != 0) return {};
    constexpr mode_t of_others = 077;
    if (S_ISREG(there.st_mode) && there.st_uid == ::geteuid() && !(there.st_mode & of_others)) return there;
    throw refusal("rdma wire: " + file + " is not this user's alone, and would be memory of this run",
                  "remove it, or choose other ports");
}

// Whether this process has mapped the file. Source: proc_pid_maps(5).
bool is_mapped(const struct stat &file) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        unsigned major_number = 0, minor_number = 0;
        unsigned long inode = 0;
        if (std::sscanf(line.c_str(), "%*s %*s %*s %x:%x %lu", &major_number, &minor_number, &inode) == 3 &&
            inode == file.st_ino && makedev(major_number, minor_number) == file.st_dev)
            return true;
    }
    return false;
}

int64_t ns_since(const timespec &then) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return (now.tv_sec - then.tv_sec) * 1'000'000'000 + now.tv_nsec - then.tv_nsec;
}

fabric_address address_of_name(const std::string &name) {
    fabric_address made{{name.begin(), name.end()}};
    made.bytes.push_back(0);
    return made;
}

fabric_handle<fi_info> hints_of(const rdma_setup &setup, const port_plan &asked) {
    fabric_handle<fi_info> hints(libfabric().dupinfo(nullptr));
    if (!hints) throw refusal("rdma wire: no memory for libfabric's hints");
    hints->caps = setup.operation == rdma_operation::send ? FI_MSG : FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = endpoint_type(setup.type);
    hints->fabric_attr->prov_name = ::strdup(setup.provider.c_str());
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->addr_format = is_by_name(setup.provider) ? FI_ADDR_STR : FI_SOCKADDR_IN;
    hints->rx_attr->size = asked.rx_descriptors;
    hints->tx_attr->size = asked.tx_descriptors;
    return hints;
}

// `deep`: with queues as deep as the plan asks for; else as deep as the provider's are.
int ask(const rdma_setup &setup, const fabric_address &at, bool deep, fi_info **found) {
    const fabric_handle<fi_info> hints = hints_of(setup, setup.end.plan.port);
    if (!deep) hints->rx_attr->size = hints->tx_attr->size = 0;
    const uint32_t version = FI_VERSION(1, 17);
    if (is_by_name(setup.provider)) {
        const auto *name = reinterpret_cast<const char *>(at.bytes.data()) + name_scheme.size();
        return libfabric().getinfo(version, name, nullptr, FI_SOURCE, hints.get(), found);
    }
    hints->src_addr = std::malloc(at.bytes.size());  // libfabric frees it with the hints
    if (hints->src_addr == nullptr) return -FI_ENOMEM;
    std::memcpy(hints->src_addr, at.bytes.data(), at.bytes.size());
    hints->src_addrlen = at.bytes.size();
    return libfabric().getinfo(version, nullptr, nullptr, 0, hints.get(), found);
}

}  // namespace

fabric_address fabric_address_of(const std::string &provider, uint32_t ip, uint16_t first_port,
                                 uint16_t queue) {
    const auto port = static_cast<uint16_t>(first_port + queue);
    if (is_by_name(provider)) return address_of_name(name_in_memory(ip, port));
    const sockaddr_in address = socket_address(ip, port);
    const auto *first = reinterpret_cast<const uint8_t *>(&address);
    return {{first, first + sizeof address}};
}

claimed_address::claimed_address(const rdma_setup &setup) {
    if (is_by_name(setup.provider))
        claim_names(setup.end.plan);
    else
        find_address(setup.end.plan);
}

void claimed_address::claim_names(const endpoint_plan &e) {
    for (uint16_t queue = 0; queue < e.port.queues; queue++) {
        const auto port = static_cast<uint16_t>(e.udp_port + queue);
        held_.emplace_back(claim_name(name_in_memory(e.ip.v4, port)));
        if (held_.back().number < 0)
            throw refusal("rdma wire: another run has the address " + dotted(e.ip.v4) + ", port " +
                              std::to_string(port),
                          "wait for its end, or choose another " +
                              std::string(side_names[static_cast<int>(e.side)]) + ".port");
    }
}

void claimed_address::find_address(const endpoint_plan &e) {
    const std::string side = side_names[static_cast<int>(e.side)];
    const sockaddr_in address = socket_address(e.ip.v4, 0);
    const descriptor tried(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (::bind(tried.number, reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0)
        throw refusal("rdma wire: " + side + ".ip " + dotted(e.ip.v4) + " is no address of this host",
                      side +
                          ".ip = \"127.0.0.1\" if both sides run on this host, or an address that `ip "
                          "address` shows");
}

claimed_address::descriptor::~descriptor() {
    if (number >= 0) ::close(number);
}

fabric_address spare_address(const rdma_setup &setup) {
    if (!is_by_name(setup.provider)) return fabric_address_of(setup.provider, setup.end.plan.ip.v4, 0, 0);
    return address_of_name(std::string(name_scheme) + "windtunnel-trial-" + std::to_string(unguessable()));
}

fabric_handle<fi_info> fabric_offer_at(const rdma_setup &setup, const fabric_address &at) {
    fi_info *found = nullptr;
    int error = ask(setup, at, true, &found);
    if (error == -FI_ENODATA) error = ask(setup, at, false, &found);
    if (error == -FI_ENODATA)
        throw refusal("rdma wire: libfabric has no provider \"" + setup.provider + "\" here",
                      "`fi_info -p " + setup.provider +
                          "` shows why; `windtunnel host doctor` lists those that there are");
    check_fabric(setup.provider, error, "asking what it offers");
    return fabric_handle<fi_info>(found);
}

fabric_handle<fi_info> fabric_offer(const rdma_setup &setup, uint16_t queue) {
    const endpoint_plan &e = setup.end.plan;
    if (setup.type == rdma_type::rc && e.side == side::client)
        return fabric_offer_at(setup, spare_address(setup));
    return fabric_offer_at(setup, fabric_address_of(setup.provider, e.ip.v4, e.udp_port, queue));
}

void check_memory(const std::string &provider, const fabric_address &own) {
    if (!is_by_name(provider)) return;
    const auto there = memory_of(own);
    if (!there || !is_mapped(*there))
        throw refusal("rdma wire: " + file_of(own) + " is not the memory that this run has mapped",
                      "look who else makes files of this name, or choose other ports");
}

bool can_be_named(const std::string &provider, const fabric_address &peer) {
    constexpr int64_t complete_after =
        300'000'000;  // ns: its owner fills it at once, if the host lets it run
    if (!is_by_name(provider)) return true;
    const auto there = memory_of(peer);
    return there && ns_since(there->st_mtim) >= complete_after;
}

int name_endpoint(const std::string &provider, fid_ep *endpoint, fabric_address &address) {
    if (!is_by_name(provider)) return 0;
    memory_of(address);
    return fi_setname(&endpoint->fid, address.bytes.data(), address.bytes.size());
}

}  // namespace wt
