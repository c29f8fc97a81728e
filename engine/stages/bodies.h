// Who moves or checks the bodies of an application's messages beside the spine: the state of a part
// (parts/part.h), whose stage functions know what it is.
#pragma once

namespace wt {

struct bodies {
    bodies() = default;
    virtual ~bodies() = default;
    bodies(const bodies &) = delete;
    bodies &operator=(const bodies &) = delete;
};

}  // namespace wt
