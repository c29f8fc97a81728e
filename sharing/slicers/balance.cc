#include "slicers/balance.h"

#include <algorithm>
#include <cmath>

namespace wt {

constexpr double always = 0.9;  // of the interval runnable: it wanted all that it could get

static int nice_of(const member &m, double owed_ns) { return owed_ns >= 0 ? m.nice_high : m.nice_low; }

void balance::begin(const roster &members, const std::vector<int> &was_at) {
    std::vector<balanced> state(members.size());
    for (size_t i = 0; i < members.size(); i++) {
        if (was_at[i] >= 0) state[i].owed_ns = state_[static_cast<size_t>(was_at[i])].owed_ns;
        state[i].nice = nice_of(members[i], state[i].owed_ns);
    }
    state_ = std::move(state);
}

void balance::step(const roster &members, const std::vector<interval_times> &times, uint64_t interval_ns) {
    double ran = 0, weights = 0;
    const auto wanted = [&](size_t i) {
        return static_cast<double>(times[i].ran_ns + times[i].waited_ns) >=
               always * static_cast<double>(interval_ns);
    };
    for (size_t i = 0; i < members.size(); i++) {
        if (!wanted(i)) continue;
        ran += static_cast<double>(times[i].ran_ns);
        weights += members[i].weight;
    }
    for (size_t i = 0; i < members.size(); i++) {
        balanced &b = state_[i];
        if (!wanted(i)) {
            b.owed_ns = 0;
            continue;
        }
        b.owed_ns += ran * members[i].weight / weights - static_cast<double>(times[i].ran_ns);
        b.owed_ns = std::clamp(b.owed_ns, -most_owed_ns_, most_owed_ns_);
        b.nice = nice_of(members[i], b.owed_ns);
    }
}

}  // namespace wt
