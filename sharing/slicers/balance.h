// Shares exact to the nanosecond with nice values, of which one step is 25%: each member's nice moves
// between the step below its weight and the step above, so that what it ran comes out as its weight says.
#pragma once

#include <cstdint>
#include <vector>

#include "slicers/roster.h"

namespace wt {

struct balanced {
    double owed_ns = 0;  // what it should have run and did not
    int nice = 0;
};

// What each member ran and waited in an interval.
struct interval_times {
    uint64_t ran_ns, waited_ns;
};

// After each interval, the nice value that each member should have. Only members that wanted to run all the
// time are owed anything, and never more than `most_owed_ns`: a tenant that sleeps saves nothing up.
class balance {
  public:
    explicit balance(double most_owed_ns = 20e6) : most_owed_ns_(most_owed_ns) {}
    // Who was a member before, in the place `was_at` of it, is still owed what it was owed; -1: a new one.
    void begin(const roster &members, const std::vector<int> &was_at);
    void step(const roster &members, const std::vector<interval_times> &times, uint64_t interval_ns);
    const std::vector<balanced> &state() const { return state_; }

  private:
    double most_owed_ns_;
    std::vector<balanced> state_;
};

}  // namespace wt
