#include "wires/af_xdp_rings.h"

#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_version.h>
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
#include <unordered_set>

#include "core/refusal.h"

namespace wt {

namespace {

constexpr uint32_t largest_ring = 1u << 16;
constexpr uint32_t drivers_own_rings = 4096 + 2048;  // to be filled, and sent
constexpr uint32_t most_kept_by_a_nic = 2 * 8192;    // in a queue's rings; no driver in Linux has larger ones
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

uint32_t ring_size(uint32_t mapped, uint32_t known, uint32_t first, uint32_t entry_bytes, uint32_t page) {
    if (known == 0) return mapped;
    const auto pages = [&](uint32_t size) { return (first + size * entry_bytes + page - 1) / page; };
    return pages(known) == pages(mapped) ? known : 0;
}

bool is_mbuf_of(const rte_mempool *pool, const rte_mbuf *m) {
    const auto *const at = reinterpret_cast<const uint8_t *>(m) - pool->header_size;
    const size_t whole = pool->header_size + pool->elt_size + pool->trailer_size;
    const rte_mempool_memhdr *chunk;
    STAILQ_FOREACH(chunk, &pool->mem_list, next) {
        const auto *const first = static_cast<const uint8_t *>(chunk->addr);
        if (at >= first && at + whole <= first + chunk->len) return m->pool == pool;
    }
    return false;
}

uint32_t free_the_rest(rte_mempool *pool, uint32_t most) {
    unsigned lcore;
    RTE_LCORE_FOREACH(lcore)
    if (rte_mempool_cache *const cache = rte_mempool_default_cache(pool, lcore))
        rte_mempool_cache_flush(cache, pool);
    const uint32_t free = rte_mempool_avail_count(pool);
    std::vector<void *> taken(free);
    if (free == pool->size || pool->size - free > most ||
        (free > 0 && rte_mempool_generic_get(pool, taken.data(), free, nullptr) != 0))
        return 0;
    struct search {
        std::unordered_set<void *> free;
        std::vector<void *> others;
    } all{{taken.begin(), taken.end()}, {}};
    rte_mempool_obj_iter(
        pool,
        [](rte_mempool *, void *argument, void *object, unsigned) {
            auto &found = *static_cast<search *>(argument);
            if (!found.free.contains(object)) found.others.push_back(object);
        },
        &all);
    if (free > 0) rte_mempool_generic_put(pool, taken.data(), free, nullptr);
    for (void *const object : all.others) rte_mbuf_raw_free(static_cast<rte_mbuf *>(object));
    return static_cast<uint32_t>(all.others.size());
}

watched_rings::watched_rings(std::shared_ptr<void> before, rte_mempool *pool, uint32_t descriptors)
    : before_(std::move(before)), pool_(pool), sockets_(new_xdp_sockets()), descriptors_(descriptors) {
    for (const int fd : sockets_) map_socket(fd);
    watched.insert(sockets_.begin(), sockets_.end());
}

void watched_rings::map_socket(int fd) {
    xdp_mmap_offsets at{};
    socklen_t size = sizeof at;
    if (getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &size) < 0)
        throw refusal(std::string("af_xdp wire: the rings' layout: ") + std::strerror(errno));
    map_ring(fd, at.fr, XDP_UMEM_PGOFF_FILL_RING, sizeof(uint64_t), 0);
    map_ring(fd, at.cr, XDP_UMEM_PGOFF_COMPLETION_RING, sizeof(uint64_t), 0);
    map_ring(fd, at.rx, XDP_PGOFF_RX_RING, sizeof(xdp_desc), descriptors_);
    map_ring(fd, at.tx, XDP_PGOFF_TX_RING, sizeof(xdp_desc), descriptors_);
    xdp_options chosen{};
    size = sizeof chosen;
    zero_copy_ |= getsockopt(fd, SOL_XDP, XDP_OPTIONS, &chosen, &size) == 0 &&
                  (chosen.flags & XDP_OPTIONS_ZEROCOPY) != 0;
}

// The driver's own rings (drivers_own_rings) fill their pages: theirs is the size that the kernel maps.
void watched_rings::map_ring(int fd, const xdp_ring_offset &at, uint64_t page_offset, uint32_t entry_bytes,
                             uint32_t known_size) {
    for (uint32_t most = largest_ring; most > 0; most /= 2) {
        const size_t bytes = at.desc + size_t{most} * entry_bytes;
        void *mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(page_offset));
        if (mapped == MAP_FAILED && errno == EBUSY) unseen_ = true;
        if (unseen_) return;
        if (mapped == MAP_FAILED) continue;
        const uint32_t size = ring_size(most, known_size, static_cast<uint32_t>(at.desc), entry_bytes,
                                        static_cast<uint32_t>(sysconf(_SC_PAGESIZE)));
        if (size == 0) {
            munmap(mapped, bytes);
            throw refusal("af_xdp wire: asked for rings of " + std::to_string(known_size) +
                              " descriptors, the driver of " + rte_version() + " has made others (about " +
                              std::to_string(most) + ")",
                          "another number of descriptors, a power of two");
        }
        const auto *start = static_cast<const uint8_t *>(mapped);
        rings_.push_back({mapped, bytes, reinterpret_cast<const uint32_t *>(start + at.producer),
                          reinterpret_cast<const uint32_t *>(start + at.consumer), start + at.desc, size,
                          entry_bytes});
        return;
    }
    throw refusal(std::string("af_xdp wire: a ring cannot be mapped: ") + std::strerror(errno));
}

// Of one queue: by the NIC, and in the rings where they are not seen.
uint32_t watched_rings::most_kept() const {
    return (zero_copy_ ? most_kept_by_a_nic : 0) + (unseen_ ? drivers_own_rings + 2 * descriptors_ : 0);
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
        auto *const m = reinterpret_cast<rte_mbuf *>(base_of(pool_) + address + pool_->header_size);
        if (is_mbuf_of(pool_, m)) rte_pktmbuf_free(m);  // else the ledger misses it, and says so
    }
}

watched_rings::~watched_rings() {
    for (uint32_t i = 0; i < most_pauses && rte_mempool_avail_count(pool_) + held() < pool_->size; i++)
        nanosleep(&pause, nullptr);
    for (const ring &r : rings_) {
        give_back(r);
        munmap(r.mapped, r.bytes);
    }
    if (zero_copy_ || unseen_) free_the_rest(pool_, most_kept() * static_cast<uint32_t>(sockets_.size()));
    for (const int fd : sockets_) watched.erase(fd);
}

}  // namespace wt
