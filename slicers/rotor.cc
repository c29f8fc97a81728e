#include <algorithm>

#include "slicers/mechanisms.h"
#include "slicers/task.h"

namespace wt {

constexpr uint64_t idle_ns = 50'000'000;
constexpr uint64_t least_turn_ns = 20'000;  // two changes of policy cost some microseconds

double turn_ns(const roster &members, size_t which, uint64_t slice_ns) {
    double all = 0;
    for (const member &m : members) all += m.weight;
    return static_cast<double>(slice_ns) * static_cast<double>(members.size()) * members[which].weight / all;
}

void turn_keeper::begin(const roster &members) {
    at_ = 0;
    saved_.assign(members.size(), 0.0);
}

uint64_t turn_keeper::next(const roster &members, uint64_t slice_ns, size_t &whose) {
    if (members.empty()) return 0;
    for (;;) {
        whose = at_;
        at_ = (at_ + 1) % members.size();
        saved_[whose] += turn_ns(members, whose, slice_ns);
        if (saved_[whose] < least_ns_) continue;
        const auto turn = static_cast<uint64_t>(saved_[whose]);
        saved_[whose] -= static_cast<double>(turn);
        return turn;
    }
}

void rotate(shared_core &core) {
    turn_keeper keeper(least_turn_ns);
    const roster *members = nullptr;
    int raised = 0;
    uint64_t next = 0;
    while (!core.stop.load(std::memory_order_acquire)) {
        const uint32_t seen = core.word.load(std::memory_order_acquire);
        if (const roster *shown = core.shown.load(std::memory_order_acquire); shown != members) {
            if (raised) lower_task(raised);
            raised = 0;
            members = shown;
            keeper.begin(*members);
            core.used.store(members, std::memory_order_release);
            next = 0;
        }
        uint64_t now = monotonic_ns();
        if (now >= next) {
            size_t whose = 0;
            const uint64_t turn = keeper.next(*members, core.slice_ns.load(std::memory_order_relaxed), whose);
            if (turn && (*members)[whose].tid != raised) {
                // the next one first: between the two the core is not for others
                const int before = raised;
                raised = raise_task((*members)[whose].tid) ? (*members)[whose].tid : 0;
                if (before) lower_task(before);
            }
            if (next && turn) {
                core.kicks.fetch_add(1, std::memory_order_relaxed);
                core.late.push(static_cast<uint32_t>(std::min<uint64_t>(now - next, UINT32_MAX)));
            }
            const uint64_t length = turn ? turn : idle_ns;
            next = next && now - next < length ? next + length : now + length;
        }
        wait_for_word(core.word, seen, next);
    }
    if (raised) lower_task(raised);
}

}  // namespace wt
