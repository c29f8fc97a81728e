// net_memif: shared memory between two processes, met at a control socket.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/refusal.h"
#include "ports/kinds.h"

namespace wt {

namespace {

constexpr uint32_t most_ring_bits = 14;  // ETH_MEMIF_MAX_LOG2_RING_SIZE, which no header shows
constexpr uint32_t most_buffer = UINT16_MAX;

// Whether somebody listens on the socket; a file that a killed server has left behind answers no. One that hangs takes no
// connection, and nobody waits for it.
bool is_served(const sockaddr_un &address) {
    const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool taken = ::connect(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0;
    const bool served = taken || errno == EAGAIN;
    ::close(fd);
    return served;
}

void check_socket(const std::string &path, side role) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        throw refusal("socket " + path + ": longer than the " + std::to_string(sizeof address.sun_path - 1) +
                          " bytes of a Unix socket's address",
                      "choose a shorter path");
    const std::string directory = std::filesystem::path(path).parent_path();
    if (::access(directory.c_str(), R_OK | W_OK | X_OK) != 0)
        throw refusal("socket " + path + ": its directory: " + std::strerror(errno),
                      "choose a directory that this user can write");
    if (role == side::client) return;

    struct stat found;
    if (::lstat(path.c_str(), &found) != 0) return;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    if (!S_ISSOCK(found.st_mode))
        throw refusal("socket " + path + ": something else has this name", "choose another path");
    if (is_served(address))
        throw refusal("socket " + path + ": another process serves it",
                      "choose another path, or stop that one");
    ::unlink(path.c_str());  // left behind by a server that was killed
}

std::string as_text(const mac_address &mac) {
    char text[18];
    const uint8_t *b = mac.bytes;
    std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
    return text;
}

}  // namespace

port make_memif(const endpoint_plan &e, size_t index, rte_mempool *) {
    const std::string &path = vdev_value("socket", *e.port.socket);
    check_socket(path, *e.port.memif_role);
    const uint32_t buffer = *e.port.memif_buffer_bytes;
    if (buffer == 0 || buffer > most_buffer)
        throw refusal("memif wire: buffers of " + std::to_string(buffer) + " bytes: net_memif takes 1 to " +
                      std::to_string(most_buffer));
    const uint32_t asked = std::max(e.port.rx_descriptors, e.port.tx_descriptors);
    const uint32_t bits = std::clamp<uint32_t>(std::bit_width(asked - 1), 1, most_ring_bits);

    port made{.kind = port_kind::memif};
    make_vdev(made, "net_memif", index,
              "role=" + std::string(side_names[static_cast<int>(*e.port.memif_role)]) + ",id=0,socket=" +
                  path + ",socket-abstract=no,zero-copy=no,bsize=" + std::to_string(buffer) +
                  ",rsize=" + std::to_string(bits) + ",mac=" + as_text(e.mac));
    if (*e.port.memif_role == side::client) made.starts_after = path;
    made.notes.push_back("net_memif copies every packet twice, once in each process");
    if (1u << bits != e.port.rx_descriptors || 1u << bits != e.port.tx_descriptors)
        made.notes.push_back("net_memif has rings of " + std::to_string(1u << bits) + " both ways, where " +
                             std::to_string(e.port.rx_descriptors) + " rx and " +
                             std::to_string(e.port.tx_descriptors) + " tx descriptors were asked for");
    return made;
}

}  // namespace wt
