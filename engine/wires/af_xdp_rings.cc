#include "wires/af_xdp_rings.h"

#include <rte_mbuf.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>

#include "core/refusal.h"

namespace wt {

namespace {

constexpr uint32_t largest_ring = 1u << 16;
// Frames that the kernel still sends when the sockets are closed come back within the other end's next poll.
constexpr timespec pause = {0, 1'000'000};
constexpr uint32_t most_pauses = 100;

uint32_t read(const uint32_t *index) {
    return std::atomic_ref(*const_cast<uint32_t *>(index)).load(std::memory_order_acquire);
}

std::set<int> watched;  // sockets of all ports; main thread only

std::vector<int> new_xdp_sockets() {
    std::vector<int> found;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        const int fd = std::stoi(entry.path().filename());
        int domain = 0;
        socklen_t size = sizeof domain;
        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_XDP &&
            !watched.contains(fd))
            found.push_back(fd);
    }
    return found;
}

// Where the driver says that the pool's memory begins: addresses in the rings count from there.
uint8_t *base_of(const rte_mempool *pool) {
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<uintptr_t>(STAILQ_FIRST(&pool->mem_list)->addr);
    return reinterpret_cast<uint8_t *>(first & ~(page - 1));
}

}  // namespace

watched_rings::watched_rings(std::shared_ptr<void> before, rte_mempool *pool)
    : before_(std::move(before)), pool_(pool), sockets_(new_xdp_sockets()) {
    for (const int fd : sockets_) map_socket(fd);
    watched.insert(sockets_.begin(), sockets_.end());
}

void watched_rings::map_socket(int fd) {
    xdp_mmap_offsets at{};
    socklen_t size = sizeof at;
    if (getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &size) < 0)
        throw refusal(std::string("af_xdp wire: the rings' layout: ") + std::strerror(errno));
    map_ring(fd, at.fr, XDP_UMEM_PGOFF_FILL_RING, sizeof(uint64_t));
    map_ring(fd, at.cr, XDP_UMEM_PGOFF_COMPLETION_RING, sizeof(uint64_t));
    map_ring(fd, at.rx, XDP_PGOFF_RX_RING, sizeof(xdp_desc));
    map_ring(fd, at.tx, XDP_PGOFF_TX_RING, sizeof(xdp_desc));
}

// The kernel maps no more than there is, so that the largest power of two that it maps is the ring's size.
void watched_rings::map_ring(int fd, const xdp_ring_offset &at, uint64_t page_offset, uint32_t entry_bytes) {
    for (uint32_t size = largest_ring; size > 0; size /= 2) {
        const size_t bytes = at.desc + size_t{size} * entry_bytes;
        void *mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(page_offset));
        if (mapped == MAP_FAILED) continue;
        const auto *start = static_cast<const uint8_t *>(mapped);
        rings_.push_back({mapped, bytes, reinterpret_cast<const uint32_t *>(start + at.producer),
                          reinterpret_cast<const uint32_t *>(start + at.consumer), start + at.desc, size,
                          entry_bytes});
        return;
    }
    throw refusal(std::string("af_xdp wire: a ring cannot be mapped: ") + std::strerror(errno));
}

uint32_t watched_rings::held() const {
    uint32_t sum = 0;
    for (const ring &r : rings_) sum += read(r.producer) - read(r.consumer);
    return sum;
}

void watched_rings::give_back(const ring &r) const {
    const uint32_t end = read(r.producer);
    for (uint32_t i = read(r.consumer); i != end; i++) {
        uint64_t address;  // of both kinds of entry the first word
        std::memcpy(&address, r.entries + size_t{i & (r.size - 1)} * r.entry_bytes, sizeof address);
        address &= XSK_UNALIGNED_BUF_ADDR_MASK;
        rte_pktmbuf_free(reinterpret_cast<rte_mbuf *>(base_of(pool_) + address + pool_->header_size));
    }
}

watched_rings::~watched_rings() {
    for (uint32_t i = 0; i < most_pauses && rte_mempool_avail_count(pool_) + held() < pool_->size; i++)
        nanosleep(&pause, nullptr);
    for (const ring &r : rings_) {
        give_back(r);
        munmap(r.mapped, r.bytes);
    }
    for (const int fd : sockets_) watched.erase(fd);
}

}  // namespace wt
