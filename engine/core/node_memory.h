// Memory on a NUMA node, without EAL: that of rings, which unit tests and fuzzers make too.
#pragma once

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace wt {

// Has the kernel move the pages of a piece of memory to a node, and put those there that are still to come.
// Returns false where it does not: a node that is not there, or a sandbox that forbids it. A page at either
// end takes its other contents along.
inline bool place_on_node(const void *begin, size_t bytes, int node) {
    constexpr int most = 64;
    if (node < 0 || node >= most) return false;
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const uint64_t mask = uint64_t{1} << node;
    const uintptr_t first = reinterpret_cast<uintptr_t>(begin) & -page,
                    last = (reinterpret_cast<uintptr_t>(begin) + bytes + page - 1) & -page;
    // the kernel takes one bit less than it is told (mm/mempolicy.c, get_nodes)
    return syscall(SYS_mbind, first, last - first, MPOL_PREFERRED, &mask, most + 1, MPOL_MF_MOVE) == 0;
}

}  // namespace wt
