#include <algorithm>
#include <optional>

#include "slicers/mechanisms.h"
#include "slicers/task.h"

namespace wt {

constexpr uint64_t rest_ns = 1'000'000;     // while nobody is raised, until sleepers are looked at again
constexpr uint64_t least_turn_ns = 20'000;  // two changes of policy cost some microseconds
constexpr size_t most_looks = 4;            // at sleepers, a turn: 5 us each

double own_ns(const roster &members, const turn_takers &takers, size_t which, turn_length length) {
    double weights = 0, count = 0;
    for (size_t i = 0; i < members.size(); i++) {
        if (!takers[i]) continue;
        weights += members[i].weight;
        count++;
    }
    return static_cast<double>(length.slice_ns - length.cost_ns) * count * members[which].weight / weights;
}

void turn_keeper::begin(const roster &members) {
    at_ = 0;
    saved_.assign(members.size(), 0.0);
}

uint64_t turn_keeper::next(const roster &members, const turn_takers &takers, turn_length length,
                           size_t &whose) {
    if (std::count(takers.begin(), takers.end(), true) < 2) return 0;
    for (;;) {
        const size_t which = at_;
        at_ = (at_ + 1) % members.size();
        if (!takers[which]) continue;
        saved_[which] += own_ns(members, takers, which, length);
        if (saved_[which] < least_ns_) continue;
        const auto own = static_cast<uint64_t>(saved_[which]);
        saved_[which] -= static_cast<double>(own);
        whose = which;
        return own + length.cost_ns;
    }
}

namespace {

// The members' threads. Those that run or could get turns: who is found asleep at the end of a turn loses the
// next ones, and is looked at until it is awake.
class member_threads {
  public:
    // Who stays keeps its place among those that sleep or do not. The former roster is still there.
    void begin(const roster &members) {
        std::vector<task> threads;
        std::vector<first_thread> firsts;
        turn_takers takers;
        for (const member &m : members) {
            size_t known = 0;
            while (known < threads_.size() && !same_thread((*members_)[known], m)) known++;
            const bool stays = known < threads_.size();
            threads.push_back(stays ? std::move(threads_[known]) : task(m.tid, m.started));
            firsts.push_back(stays ? std::move(firsts_[known]) : first_thread(m.tid));
            takers.push_back(stays ? takers_[known] : threads.back().runs());
        }
        members_ = &members;
        threads_ = std::move(threads);
        firsts_ = std::move(firsts);
        takers_ = std::move(takers);
        next_ = 0;
    }

    bool raise(size_t which) const { return threads_[which].raise(); }

    // Whose number is gone has ended, or execed: then the first thread of its process is raised in its place,
    // out of turn.
    void lower(size_t which) const {
        if (!threads_[which].lower()) firsts_[which].lower();
    }

    void look_at(size_t which) { takers_[which] = threads_[which].runs(); }

    void look_at_sleepers() {
        size_t looks = 0;
        for (size_t step = 0; step < threads_.size() && looks < most_looks; step++) {
            next_ = (next_ + 1) % threads_.size();
            if (takers_[next_]) continue;
            look_at(next_);
            looks++;
        }
    }

    const turn_takers &takers() const { return takers_; }

  private:
    const roster *members_ = nullptr;
    std::vector<task> threads_;
    std::vector<first_thread> firsts_;
    turn_takers takers_;
    size_t next_ = 0;
};

}  // namespace

void rotate(shared_core &core) {
    turn_keeper keeper(least_turn_ns);
    member_threads threads;
    const roster *members = nullptr;
    std::optional<size_t> holder, raised;
    uint64_t next = 0;
    while (!core.stop.load(std::memory_order_acquire)) {
        const uint32_t seen = core.word.load(std::memory_order_acquire);
        if (const roster *shown = core.shown.load(std::memory_order_acquire); shown != members) {
            if (raised) threads.lower(*raised);
            holder.reset();
            raised.reset();
            members = shown;
            keeper.begin(*members);
            threads.begin(*members);
            core.used.store(members, std::memory_order_release);
            next = 0;
        }
        const uint64_t now = monotonic_ns();
        if (now >= next) {
            size_t whose = 0;
            const uint64_t slice = core.slice_ns.load(std::memory_order_relaxed);
            const turn_length length = {slice, std::min(core.turn_cost_ns, slice / 2)};
            const uint64_t turn = keeper.next(*members, threads.takers(), length, whose);
            if (!turn || raised != whose) {
                // the next one first: between the two the core is not for others
                const std::optional<size_t> before = raised;
                raised.reset();
                if (turn && threads.raise(whose)) raised = whose;
                if (before) threads.lower(*before);
            }
            if (next && turn) {
                core.kicks.fetch_add(1, std::memory_order_relaxed);
                core.late.push(static_cast<uint32_t>(std::min<uint64_t>(now - next, UINT32_MAX)));
            }
            // after the switch: it delays no turn
            if (holder) threads.look_at(*holder);
            threads.look_at_sleepers();
            if (turn)
                holder = whose;
            else
                holder.reset();
            const uint64_t wait = turn ? turn : members->size() < 2 ? idle_ns : rest_ns;
            next = next && now - next < wait ? next + wait : now + wait;
        }
        wait_for_word(core.word, seen, next);
    }
    if (raised) threads.lower(*raised);
}

}  // namespace wt
