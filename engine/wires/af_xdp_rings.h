// What a closed net_af_xdp leaves in the four rings that it shared with the kernel: mbufs that it does not
// give back.
//
// The driver (22.11) hands mbufs of our pool to the kernel as they are, to be filled or sent, and forgets
// them when it is closed. The rings are the kernel's own record of them, so they are mapped once more, and
// read after the sockets are gone.
#pragma once

#include <linux/if_xdp.h>
#include <rte_mempool.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace wt {

class watched_rings {
  public:
    // Maps the rings of the XDP sockets of this process that are not watched yet. `before` is kept alive as
    // long as this. Throws refusal where a ring cannot be mapped.
    watched_rings(std::shared_ptr<void> before, rte_mempool *pool);
    // The sockets are closed: gives the mbufs in the rings back to the pool.
    ~watched_rings();
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
    void map_ring(int fd, const xdp_ring_offset &at, uint64_t page_offset, uint32_t entry_bytes);
    uint32_t held() const;
    void give_back(const ring &r) const;

    std::shared_ptr<void> before_;
    rte_mempool *pool_;
    std::vector<int> sockets_;
    std::vector<ring> rings_;
};

}  // namespace wt
