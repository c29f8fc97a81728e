// Counts heap allocations a thread: workers make none once they loop, and the result line says so.
#pragma once

#include <cstdint>

namespace wt {

// Allocations that the calling thread has made so far, in any library; 0 where they are not watched.
uint64_t thread_allocations();

// Forgets those that the calling thread has made since it had made `before`: a library's, which a worker
// calls and which is not ours. Returns how many they were.
uint64_t disown_allocations(uint64_t before);

// False under sanitizers, whose own malloc must stand.
bool allocations_watched();

}  // namespace wt
