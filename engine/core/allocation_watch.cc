#include "core/allocation_watch.h"

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define WT_WATCH 0
#else
#define WT_WATCH 1
#endif

namespace wt {
static thread_local uint64_t allocations;
uint64_t thread_allocations() { return allocations; }
uint64_t disown_allocations(uint64_t before) {
    const uint64_t made = allocations - before;
    allocations = before;
    return made;
}
bool allocations_watched() { return WT_WATCH; }
}  // namespace wt

#if WT_WATCH
// The executable's malloc stands before glibc's for every library in the process; operator new comes through
// it too.
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

void *malloc(size_t bytes) {
    wt::allocations++;
    return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
    wt::allocations++;
    return __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) {
    wt::allocations++;
    return __libc_realloc(old, bytes);
}
}
#endif
