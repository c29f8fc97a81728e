#include <algorithm>
#include <bit>

#include "slicers/mechanisms.h"
#include "slicers/task.h"

namespace wt {

namespace {

// Whose bell is served next: the first after the last one, so that none is skipped.
unsigned after(uint64_t due, unsigned last) {
    const unsigned ahead = (last + 1) % WT_DOORBELL_TENANTS;
    const uint64_t later = due >> ahead << ahead;
    return static_cast<unsigned>(std::countr_zero(later ? later : due));
}

uint64_t bits_of(const roster &members) {
    return members.size() < WT_DOORBELL_TENANTS ? (uint64_t{1} << members.size()) - 1 : UINT64_MAX;
}

}  // namespace

void response_bells(shared_core &core, wt_doorbell &bell, uint64_t turn) {
    std::atomic_ref<uint64_t> rung(bell.due);
    const roster *members = nullptr;
    uint64_t due = 0, turn_end = 0, kick_at = 0;
    unsigned last = 0;
    int raised = 0;
    const auto lower = [&] {
        if (raised) lower_task(raised);
        raised = 0;
    };
    while (!core.stop.load(std::memory_order_acquire)) {
        const uint32_t seen = core.word->load(std::memory_order_acquire);
        const uint64_t slice = core.slice_ns.load(std::memory_order_relaxed);
        if (const roster *shown = core.shown.load(std::memory_order_acquire); shown != members) {
            lower();
            members = shown;
            core.used.store(members, std::memory_order_release);
        }
        due |= rung.exchange(0, std::memory_order_acquire);
        due &= bits_of(*members);  // a dispatcher may ring for a tenant that left
        const uint64_t now = monotonic_ns();
        if (raised && now >= turn_end) lower();
        if (!raised && due) {
            last = after(due, last);
            due &= ~(uint64_t{1} << last);
            if (raise_task((*members)[last].tid)) raised = (*members)[last].tid;
            turn_end = now + turn;
        }
        if (now >= kick_at) {
            if (kick_at) {
                core.kicks.fetch_add(1, std::memory_order_relaxed);
                core.late.push(static_cast<uint32_t>(std::min<uint64_t>(now - kick_at, UINT32_MAX)));
            }
            kick_at = now + slice;
        }
        wait_for_word(*core.word, seen, raised ? std::min(turn_end, kick_at) : kick_at);
    }
    lower();
}

}  // namespace wt
