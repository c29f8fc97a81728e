// Time in which the hypervisor ran somebody else on a CPU, as the kernel was told.
#pragma once

#include <cstdint>
#include <vector>

namespace wt {

// Stolen time of each of these CPUs since the boot, ns, in steps of a clock tick (10 ms); all 0 where the
// kernel does not say, as on a machine of its own.
std::vector<uint64_t> steal_ns(const std::vector<int> &cpus);

}  // namespace wt
