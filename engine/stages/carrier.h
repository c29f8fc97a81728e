// What carries a workload in the place of messages over UDP: the state of a part (parts/part.h), whose stage
// functions know what it is.
#pragma once

namespace wt {

struct carrier {
    carrier() = default;
    virtual ~carrier() = default;
    carrier(const carrier &) = delete;
    carrier &operator=(const carrier &) = delete;
};

}  // namespace wt
