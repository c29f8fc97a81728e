// The NUMA node of a CPU.
#pragma once

#include <string>

namespace wt {

// As the kernel says it, -1 where it does not. EAL knows that of an lcore only where that has a CPU of its
// number. `sysfs`: where the kernel's tree is mounted.
int node_of_cpu(int cpu, const std::string &sysfs = "/sys");

}  // namespace wt
