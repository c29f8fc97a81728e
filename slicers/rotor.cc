#include <algorithm>
#include <optional>

#include "slicers/mechanisms.h"
#include "slicers/task.h"

namespace wt {

constexpr uint64_t idle_ns = 50'000'000;
constexpr uint64_t rest_ns = 1'000'000;     // while nobody is raised, until sleepers are looked at again
constexpr uint64_t least_turn_ns = 20'000;  // two changes of policy cost some microseconds
constexpr size_t most_looks = 4;            // at sleepers, a turn: 2 us each

double turn_ns(const roster &members, const turn_takers &takers, size_t which, uint64_t slice_ns) {
    double weights = 0, count = 0;
    for (size_t i = 0; i < members.size(); i++) {
        if (!takers[i]) continue;
        weights += members[i].weight;
        count++;
    }
    return static_cast<double>(slice_ns) * count * members[which].weight / weights;
}

void turn_keeper::begin(const roster &members) {
    at_ = 0;
    saved_.assign(members.size(), 0.0);
}

uint64_t turn_keeper::next(const roster &members, const turn_takers &takers, uint64_t slice_ns,
                           size_t &whose) {
    if (std::count(takers.begin(), takers.end(), true) < 2) return 0;
    for (;;) {
        const size_t which = at_;
        at_ = (at_ + 1) % members.size();
        if (!takers[which]) continue;
        saved_[which] += turn_ns(members, takers, which, slice_ns);
        if (saved_[which] < least_ns_) continue;
        const auto turn = static_cast<uint64_t>(saved_[which]);
        saved_[which] -= static_cast<double>(turn);
        whose = which;
        return turn;
    }
}

namespace {

// Who gets turns: members that run or could. Who is found asleep at the end of a turn loses the next ones,
// and is looked at until it is awake.
class demand {
  public:
    // Who stays keeps its place among those that sleep or do not; who is new gets turns.
    void begin(const roster &members) {
        std::vector<task_state> states;
        turn_takers takers;
        for (const member &m : members) {
            const auto known = std::find_if(states_.begin(), states_.end(),
                                            [&](const task_state &s) { return s.tid() == m.tid; });
            takers.push_back(known == states_.end() || takers_[static_cast<size_t>(known - states_.begin())]);
            states.emplace_back(m.tid);
        }
        states_ = std::move(states);
        takers_ = std::move(takers);
        next_ = 0;
    }

    void look_at(size_t which) { takers_[which] = states_[which].runs(); }

    void look_at_sleepers() {
        size_t looks = 0;
        for (size_t step = 0; step < states_.size() && looks < most_looks; step++) {
            next_ = (next_ + 1) % states_.size();
            if (takers_[next_]) continue;
            look_at(next_);
            looks++;
        }
    }

    const turn_takers &takers() const { return takers_; }

  private:
    std::vector<task_state> states_;
    turn_takers takers_;
    size_t next_ = 0;
};

}  // namespace

void rotate(shared_core &core) {
    turn_keeper keeper(least_turn_ns);
    demand wanting;
    const roster *members = nullptr;
    std::optional<size_t> holder;
    int raised = 0;
    uint64_t next = 0;
    while (!core.stop.load(std::memory_order_acquire)) {
        const uint32_t seen = core.word.load(std::memory_order_acquire);
        if (const roster *shown = core.shown.load(std::memory_order_acquire); shown != members) {
            if (raised) lower_task(raised);
            raised = 0;
            members = shown;
            keeper.begin(*members);
            wanting.begin(*members);
            holder.reset();
            core.used.store(members, std::memory_order_release);
            next = 0;
        }
        uint64_t now = monotonic_ns();
        if (now >= next) {
            size_t whose = 0;
            const uint64_t turn =
                keeper.next(*members, wanting.takers(), core.slice_ns.load(std::memory_order_relaxed), whose);
            const int chosen = turn ? (*members)[whose].tid : 0;
            if (chosen != raised) {
                // the next one first: between the two the core is not for others
                const int before = raised;
                raised = chosen && raise_task(chosen) ? chosen : 0;
                if (before) lower_task(before);
            }
            if (next && turn) {
                core.kicks.fetch_add(1, std::memory_order_relaxed);
                core.late.push(static_cast<uint32_t>(std::min<uint64_t>(now - next, UINT32_MAX)));
            }
            // after the switch: it delays no turn
            if (holder) wanting.look_at(*holder);
            wanting.look_at_sleepers();
            if (turn)
                holder = whose;
            else
                holder.reset();
            const uint64_t length = turn ? turn : members->size() < 2 ? idle_ns : rest_ns;
            next = next && now - next < length ? next + length : now + length;
        }
        wait_for_word(core.word, seen, next);
    }
    if (raised) lower_task(raised);
}

}  // namespace wt
