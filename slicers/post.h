// A ring in shared memory from a dispatcher to a tenant: one writes, one reads. An entry is two moments of
// CLOCK_MONOTONIC, when the request was meant to come and when it was posted.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace wt {

struct posting_ring {
    static constexpr uint32_t size = 4096;
    struct entry {
        uint64_t intended_ns, posted_ns;
    };
    alignas(64) std::atomic<uint64_t> in;
    alignas(64) std::atomic<uint64_t> out;
    alignas(64) entry entries[size];

    bool post(entry e) {
        const uint64_t at = in.load(std::memory_order_relaxed);
        if (at - out.load(std::memory_order_acquire) >= size) return false;
        entries[at % size] = e;
        in.store(at + 1, std::memory_order_release);
        return true;
    }
    bool take(entry &e) {
        const uint64_t at = out.load(std::memory_order_relaxed);
        if (at == in.load(std::memory_order_acquire)) return false;
        e = entries[at % size];
        out.store(at + 1, std::memory_order_release);
        return true;
    }
};

// The ring in the file, made if it is not there. Throws refusal.
posting_ring *map_posting_ring(const std::string &path);

}  // namespace wt
