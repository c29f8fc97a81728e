// The longest time in a row that a thread was runnable without a CPU.
#pragma once

#include <algorithm>
#include <cstdint>

namespace wt {

// Fed with the thread's run delay, which the kernel raises once a wait is over: no wait is ever split between
// two looks. Waits between two looks are one, so the longest is never told too short.
class pause_log {
  public:
    void look(uint64_t waited_ns) {
        longest_ns_ = std::max(longest_ns_, waited_ns - seen_ns_);
        seen_ns_ = waited_ns;
    }

    // The longest since the last call, ns.
    uint64_t take() {
        const uint64_t longest_ns = longest_ns_;
        longest_ns_ = 0;
        return longest_ns;
    }

  private:
    uint64_t seen_ns_ = 0, longest_ns_ = 0;
};

}  // namespace wt
