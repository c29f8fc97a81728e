// Vectors that share no cache line with anything else.
//
// What a worker writes at every call must not lie beside what another worker touches: the line would go to
// and fro between their cores. malloc() puts small arrays side by side.
#pragma once

#include <rte_common.h>

#include <cstddef>
#include <new>
#include <vector>

namespace wt {

template <typename T>
struct line_allocator {
    using value_type = T;
    static constexpr std::align_val_t line{RTE_CACHE_LINE_SIZE};

    line_allocator() = default;
    template <typename U>
    line_allocator(const line_allocator<U> &) {}

    T *allocate(size_t count) {
        return static_cast<T *>(
            ::operator new(RTE_ALIGN_CEIL(count * sizeof(T), size_t{RTE_CACHE_LINE_SIZE}), line));
    }
    void deallocate(T *memory, size_t) { ::operator delete(memory, line); }

    template <typename U>
    bool operator==(const line_allocator<U> &) const {
        return true;
    }
};

template <typename T>
using line_vector = std::vector<T, line_allocator<T>>;

}  // namespace wt
