#include "parts/swx/heap.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "core/available_memory.h"

namespace wt {

namespace {

constexpr const char *heap_name = "windtunnel-swx";
constexpr uint64_t page = 2 << 20;  // for EAL's accounting only: the kernel chooses its own page size
constexpr uint64_t first_bytes = 64 << 20;

uint64_t heap_bytes;  // all handlers are opened by one thread

// EAL writes zeros to all of it: it is taken at this moment.
bool add(uint64_t bytes) {
    if (bytes > available_memory() / 4 * 3) return false;
    void *room = mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return false;
    void *start = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(room) + page - 1) / page * page);
    if (rte_malloc_heap_memory_add(heap_name, start, bytes, nullptr, static_cast<uint32_t>(bytes / page),
                                   page) != 0) {
        munmap(room, bytes + page);
        return false;
    }
    heap_bytes += bytes;
    return true;
}

}  // namespace

int table_socket(int worker_socket) {
    if (rte_eal_has_hugepages()) return std::max(0, worker_socket);
    if (heap_bytes == 0 && rte_malloc_heap_create(heap_name) != 0 && rte_errno != EEXIST)
        throw refusal(std::string("cannot reserve a heap for the pipeline's tables: ") +
                      rte_strerror(rte_errno));
    if (heap_bytes == 0 && !add(first_bytes))
        throw refusal("cannot reserve a heap for the pipeline's tables: it starts with " +
                      std::to_string(first_bytes >> 20) + " MiB, and " +
                      std::to_string(available_memory() >> 20) + " MiB are available");
    return rte_malloc_heap_get_socket(heap_name);
}

bool grow_table_memory(uint64_t most_bytes) {
    return !rte_eal_has_hugepages() && 2 * heap_bytes <= most_bytes && add(heap_bytes);
}

}  // namespace wt
