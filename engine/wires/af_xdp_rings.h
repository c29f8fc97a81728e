// What a closed net_af_xdp leaves in the four rings that it shared with the kernel: mbufs that it does not
// give back.
//
// The driver (22.11) hands mbufs of our pool to the kernel as they are, to be filled or sent, and forgets
// them when it is closed. The rings are the kernel's own record of them, so they are mapped once more, and
// read after the sockets are gone. With zero-copy, those that the NIC's own driver has taken from the rings
// are in no record, and kernels before 6.4 map a ring once only (net/xdp/xsk.c, xsk_mmap): whatever of the
// pool is not free then is theirs.
#pragma once

#include <linux/if_xdp.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace wt {

class watched_rings {
  public:
    // Maps the rings of the XDP sockets of this process that are not watched yet; those for receiving and
    // sending have `descriptors` each. `before` is kept alive as long as this. Throws refusal where a ring
    // cannot be mapped, or has another size: then this driver does otherwise than the one that we know.
    watched_rings(std::shared_ptr<void> before, rte_mempool *pool, uint32_t descriptors);
    // The sockets are closed: gives the mbufs in the rings back to the pool.
    ~watched_rings();
    // Whether the kernel maps no ring once more.
    bool unseen() const { return unseen_; }
    watched_rings(const watched_rings &) = delete;
    watched_rings &operator=(const watched_rings &) = delete;

  private:
    struct ring {
        void *mapped;
        size_t bytes;
        const uint32_t *producer, *consumer;
        const uint8_t *entries;
        uint32_t size, entry_bytes;
    };

    void map_socket(int fd);
    void map_ring(int fd, const xdp_ring_offset &at, uint64_t page_offset, uint32_t entry_bytes,
                  uint32_t known_size);
    uint32_t held() const;
    uint32_t most_kept() const;
    void give_back(const ring &r) const;

    std::shared_ptr<void> before_;
    rte_mempool *pool_;
    std::vector<int> sockets_;
    std::vector<ring> rings_;
    uint32_t descriptors_;
    bool zero_copy_ = false, unseen_ = false;
};

// The size of a ring: what is known of it, else the largest power of two that the kernel maps. It maps whole
// pages, so that a ring that does not fill one could be guessed too large: `mapped` entries. 0: what is known
// cannot be, since the ring has other pages. `first` bytes lie before the entries.
uint32_t ring_size(uint32_t mapped, uint32_t known, uint32_t first, uint32_t entry_bytes, uint32_t page);

// Whether `m` is an mbuf of the pool, at the place of one.
bool is_mbuf_of(const rte_mempool *pool, const rte_mbuf *m);

// Gives back each mbuf of the pool that is not free, but no more than `most`; returns how many. Workers have
// stopped.
uint32_t free_the_rest(rte_mempool *pool, uint32_t most);

}  // namespace wt
