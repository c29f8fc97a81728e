#include "parts/rdma/region.h"

#include <cerrno>
#include <string>

#include "core/refusal.h"

namespace wt {

rdma_memory::rdma_memory(uint64_t bytes, void *at) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0);
    void *const mapped = ::mmap(at, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (mapped == MAP_FAILED)
        throw refusal("rdma wire: no memory of " + std::to_string(bytes) + " bytes: " + std::strerror(errno),
                      "use a smaller region, or smaller pieces");
    first_ = static_cast<uint8_t *>(mapped);
    bytes_ = bytes;
}

rdma_memory::~rdma_memory() {
    if (first_ != nullptr) ::munmap(first_, bytes_);
}

}  // namespace wt
