#include <algorithm>

#include "slicers/mechanisms.h"

namespace wt {

constexpr uint64_t never_ns = UINT64_MAX / 2;

static const roster &use_shown(shared_core &core) {
    const roster *members = core.shown.load(std::memory_order_acquire);
    core.used.store(members, std::memory_order_release);
    return *members;
}

static void count_kick(shared_core &core, uint64_t late_ns) {
    core.kicks.fetch_add(1, std::memory_order_relaxed);
    core.late.push(static_cast<uint32_t>(std::min<uint64_t>(late_ns, UINT32_MAX)));
}

// The next moment of a rhythm that is never caught up with.
static uint64_t next_kick(uint64_t next, uint64_t now, uint64_t slice, bool idle) {
    return next <= now || next > now + slice ? now + (idle ? idle_ns : slice) : next;
}

void kick(shared_core &core) {
    uint64_t next = monotonic_ns();
    while (!core.stop.load(std::memory_order_acquire)) {
        const uint32_t seen = core.word.load(std::memory_order_acquire);
        const bool idle = use_shown(core).size() < 2;
        const uint64_t slice = core.slice_ns.load(std::memory_order_relaxed);
        next = next_kick(next, monotonic_ns(), slice, idle);
        wait_for_word(core.word, seen, next);
        const uint64_t now = monotonic_ns();
        if (idle || now < next) continue;  // woken for news
        count_kick(core, now - next);
        next += slice;
    }
}

// The word is read before `stop`: the stopping thread writes the word last, so no wait misses it.
void be_kicked(shared_core &core) {
    uint64_t responses = 0;
    for (;;) {
        const uint32_t seen = core.word.load(std::memory_order_acquire);
        if (core.stop.load(std::memory_order_acquire)) return;
        const bool idle = use_shown(core).size() < 2;
        if (core.idle.exchange(idle, std::memory_order_relaxed) != idle) core.wake();
        if (const uint64_t due = core.due_ns.load(std::memory_order_acquire); due != responses) {
            count_kick(core, monotonic_ns() - due);
            responses = due;
        }
        wait_for_word(core.word, seen, never_ns);
    }
}

void kick_from_afar(shared_core &core) {
    uint64_t next = monotonic_ns();
    for (;;) {
        const uint32_t seen = core.word.load(std::memory_order_acquire);
        if (core.stop.load(std::memory_order_acquire)) return;
        const bool idle = core.idle.load(std::memory_order_relaxed);
        const uint64_t slice = core.slice_ns.load(std::memory_order_relaxed);
        next = next_kick(next, monotonic_ns(), slice, idle);
        wait_for_word(core.word, seen, next);
        if (idle || monotonic_ns() < next) continue;  // woken for news
        core.due_ns.store(next, std::memory_order_release);
        core.wake();
        next += slice;
    }
}

}  // namespace wt
