// Slices and gaps of threads, from the switches of their core.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/histogram.h"

namespace wt {

using slice_histogram = histogram<7, 36>;  // ns, within 1.6%

// A slice is how long a member keeps the core; the slicer's own wakes do not end it, any other thread does. A
// gap is from the end of a member's slice to the beginning of its next.
class slice_keeper {
  public:
    slice_keeper() { clear(); }

    // Members by thread; a remaining member keeps its open slice.
    void set_members(const std::vector<int> &tids, int worker);
    void note(int tid, bool came, uint64_t at_ns);
    void settle(uint64_t at_ns);  // counts the running thread up to this moment
    void clear();                 // the counters, not what is open

    slice_histogram slices, gaps;
    uint64_t own_ns, others_ns;  // of members, and of all other threads, the slicer too

  private:
    struct open_slice {
        uint64_t ran_ns = 0;   // of the slice that is open
        uint64_t left_at = 0;  // 0: not seen to leave
    };
    void count(int tid, uint64_t ran_ns);
    void close();  // the holder's slice

    std::unordered_map<int, open_slice> members_;
    int worker_ = 0, on_cpu_ = -1, holder_ = -1;
    bool broken_ = false;
    uint64_t came_at_ = 0;
};

}  // namespace wt
