// Time in nanoseconds of CLOCK_MONOTONIC, and waiting for a moment or a word, whichever comes first.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace wt {

// a futex is a word that the kernel reads as well
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) &&
              std::atomic<uint32_t>::is_always_lock_free);

inline uint64_t monotonic_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// Sleeps until the moment `until_ns`, or until the word is no longer `seen` and another thread wakes it. The
// same high-resolution timer as clock_nanosleep's, which no thread could wake.
inline void wait_for_word(std::atomic<uint32_t> &word, uint32_t seen, uint64_t until_ns) {
    const timespec until = {static_cast<time_t>(until_ns / 1'000'000'000u),
                            static_cast<long>(until_ns % 1'000'000'000u)};
    syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, seen, &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

inline void wake_word(std::atomic<uint32_t> &word) {
    word.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace wt
