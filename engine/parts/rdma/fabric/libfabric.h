// The calls of libfabric that its headers do not resolve by themselves. The library is opened by the first of
// them, and not with every engine: a driver that distributions link into it measures its clock for 0.2 s as
// soon as it is loaded (libinfinipath).
#pragma once

#include <rdma/fabric.h>

namespace wt {

struct libfabric_calls {
    decltype(&::fi_getinfo) getinfo;
    decltype(&::fi_dupinfo) dupinfo;  // of null: a new one
    decltype(&::fi_freeinfo) freeinfo;
    decltype(&::fi_fabric) fabric;
    decltype(&::fi_strerror) strerror;
    decltype(&::fi_version) version;
};

// Stays open until the process ends. Throws refusal: it cannot be opened, or is older than what the engine
// was built with, whose structures are larger.
const libfabric_calls &libfabric();

}  // namespace wt
