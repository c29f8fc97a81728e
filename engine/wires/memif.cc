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
#include "host/interrupt_thread.h"
#include "host/way.h"
#include "plan/addresses.h"
#include "wires/device.h"
#include "wires/wire.h"

namespace wt {

namespace {

constexpr uint32_t most_ring_bits = 14;  // ETH_MEMIF_MAX_LOG2_RING_SIZE, which no header shows
constexpr uint32_t most_buffer = UINT16_MAX;
constexpr uint32_t looks_to_restart = 200;  // 2 s: a handshake takes milliseconds

constexpr wt_wire_option options[] = {
    {.name = "socket",
     .help = "control socket, relative to this file (default: a new one for each run)",
     .example = "/tmp/wt.sock",
     .type = WT_WIRE_SOCKET,
     .scope = WT_WIRE_OF_WIRE,
     .flags = WT_WIRE_REQUIRED},
    {.name = "role",
     .fallback = "side",
     .choices = "side|server|client",
     .help = "server creates the socket, client waits for it; side: as the endpoint",
     .type = WT_WIRE_CHOICE,
     .scope = WT_WIRE_OF_ENDPOINT,
     .flags = WT_WIRE_ROLE},
    {},
};
constexpr wt_wire_need needs[] = {{.kind = WT_NEEDS_SHARED_SOCKET, .option = "socket"}, {}};

// Whether nobody listens on the socket, which a killed server left behind. Every other response is a living
// process's: a connection, no place for one (a server that hangs), another type of socket, no permission.
bool is_dead(const sockaddr_un &address) {
    const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        throw refusal(
            "socket " + std::string(address.sun_path) + ": cannot be looked at: " + std::strerror(errno),
            "allow more open files: ulimit -n");
    const bool refused = ::connect(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0 &&
                         errno == ECONNREFUSED;
    ::close(fd);
    return refused;
}

// What is made within may be used by this user alone, and by root: whoever can connect to the driver's
// control socket can end the engine, since the driver trusts what it is told.
class private_files {
  public:
    private_files() : before(::umask(S_IRWXG | S_IRWXO)) {}
    ~private_files() { ::umask(before); }
    private_files(const private_files &) = delete;
    private_files &operator=(const private_files &) = delete;

  private:
    const mode_t before;
};

// Whether it is there. The driver hands its memory to whoever serves the socket, and believes what it reads
// there. Throws refusal if that may be another user.
bool is_there_and_own(const std::string &path) {
    const auto [other, is_there] = look_at_way(path);
    if (other)
        throw refusal("socket " + path + ": " + *other + ", and this is user " + std::to_string(geteuid()),
                      "start both sides as the same user, with a socket in a directory of theirs or in /tmp");
    return is_there;
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
    const bool is_there = is_there_and_own(role == side::client ? path : directory);
    if (role == side::client) return;
    if (!is_there)
        throw refusal("socket " + path + ": its directory was taken away meanwhile",
                      "choose a directory of this user's, or /tmp");

    struct stat found;
    if (::lstat(path.c_str(), &found) != 0) return;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    if (!S_ISSOCK(found.st_mode))
        throw refusal("socket " + path + ": something else has this name", "choose another path");
    if (!is_dead(address))
        throw refusal("socket " + path + ": another process serves it",
                      "choose another path, or stop that one");
    ::unlink(path.c_str());  // left behind by a server that was killed
}

side role_of(const wire_end &end) {
    const std::string &role = end.values.text("role");
    return role == "server" ? side::server : role == "client" ? side::client : end.plan.side;
}

std::vector<port> open_memif(std::span<const wire_end> ends) {
    const wire_end &end = ends[0];
    const endpoint_plan &e = end.plan;
    const std::string &path = vdev_value("socket", end.values.text("socket"));
    const side role = role_of(end);
    check_socket(path, role);
    const uint32_t buffer = frame_room(end.pool);
    if (buffer == 0 || buffer > most_buffer)
        throw refusal("memif wire: buffers of " + std::to_string(buffer) + " bytes: net_memif takes 1 to " +
                      std::to_string(most_buffer));
    const uint32_t asked = std::max(e.port.rx_descriptors, e.port.tx_descriptors);
    const uint32_t bits = std::clamp<uint32_t>(std::bit_width(asked - 1), 1, most_ring_bits);

    port made{};
    const private_files while_the_socket_is_made;
    make_vdev(made, "net_memif", end.index,
              "role=" + std::string(name_of(role)) + ",id=0,socket=" + path +
                  ",socket-abstract=no,zero-copy=no,bsize=" + std::to_string(buffer) +
                  ",rsize=" + std::to_string(bits) + ",mac=" + text_of(*e.mac));
    if (role == side::client) made.starts_after = path;
    made.notes.push_back("net_memif copies every packet twice, once in each process");
    if (1u << bits != e.port.rx_descriptors || 1u << bits != e.port.tx_descriptors)
        made.notes.push_back("net_memif has rings of " + std::to_string(1u << bits) + " both ways, where " +
                             std::to_string(e.port.rx_descriptors) + " rx and " +
                             std::to_string(e.port.tx_descriptors) + " tx descriptors were asked for");
    return {made};
}

// A client's driver cannot start before the server listens: it starts while its link is awaited.
void start_memif(port &made, const wire_end &) {
    if (made.starts_after.empty()) start_device(made);
}

// A start that fails is tried again: the socket may be one that a killed server has left. So is one that has
// brought no link: the driver does not take up a handshake again that broke off.
void await_memif(const port &made, uint32_t looks) {
    if (made.starts_after.empty()) return;
    if (looks % looks_to_restart == 0) rte_eth_dev_stop(made.id);
    if (is_there_and_own(made.starts_after)) rte_eth_dev_start(made.id);
}

// When the other side goes, the driver's interrupt thread frees what a close frees as well, without a lock.
// It says that the link is down before it begins.
void close_memif(port &made) {
    await_interrupt_thread();
    close_device(made);
}

constexpr port_operations operations = {
    .link = link_of_device,
    .words = words_of_device,
    .missed = missed_by_device,
    .close = close_memif,
};

}  // namespace

WT_WIRE(memif) = {
    .about = {.abi = WT_WIRE_ABI,
              .size = sizeof(wt_wire),
              .name = "memif",
              .help = "memory that two processes share",
              .driver = "net_memif",
              .peer = "the other endpoint, in a process of its own",
              .copies = "two, one in each process",
              .flags = WT_WIRE_SERVER | WT_WIRE_CLIENT | WT_WIRE_BOTH_ENDS | WT_WIRE_PROCESS_EACH |
                       WT_WIRE_FOREIGN_PEER | WT_WIRE_EMULATES | WT_WIRE_LEAVES_MAC | WT_WIRE_PAIRED_QUEUES,
              .most_queues = 64,
              .options = options,
              .needs = needs,
              .mbufs = {.tx = 1}},
    .open = open_memif,
    .start = start_memif,
    .await_link = await_memif,
    .operations = &operations,
};

}  // namespace wt
