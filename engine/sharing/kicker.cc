#include <algorithm>

#include "sharing/mechanisms.h"

namespace wt {

constexpr uint64_t idle_ns = 50'000'000;  // with fewer than two members there is nobody to choose

void kick(shared_core &core) {
    uint64_t next = monotonic_ns();
    while (!core.stop.load(std::memory_order_acquire)) {
        const uint32_t seen = core.word->load(std::memory_order_acquire);
        const roster *members = core.shown.load(std::memory_order_acquire);
        core.used.store(members, std::memory_order_release);
        const uint64_t slice = core.slice_ns.load(std::memory_order_relaxed);
        const bool idle = members->size() < 2;
        const uint64_t before = monotonic_ns();
        if (next <= before || next > before + slice) next = before + (idle ? idle_ns : slice);
        wait_for_word(*core.word, seen, next);
        const uint64_t now = monotonic_ns();
        if (idle || now < next) continue;  // woken for news
        core.kicks.fetch_add(1, std::memory_order_relaxed);
        core.late.push(static_cast<uint32_t>(std::min<uint64_t>(now - next, UINT32_MAX)));
        next += slice;
    }
}

}  // namespace wt
