// One CPU for the calling thread. A cpu_set_t has room for 1,024; hosts may have more.
#pragma once

#include <sched.h>

#include <cerrno>
#include <memory>

namespace wt {

// Whether the kernel took it; errno says why not.
inline bool run_on_cpu(int cpu) {
    struct release {
        void operator()(cpu_set_t *set) const { CPU_FREE(set); }
    };
    const auto count = static_cast<size_t>(cpu) + 1;
    const std::unique_ptr<cpu_set_t, release> set{CPU_ALLOC(count)};
    if (set == nullptr) return errno = ENOMEM, false;
    const size_t bytes = CPU_ALLOC_SIZE(count);
    CPU_ZERO_S(bytes, set.get());
    CPU_SET_S(static_cast<size_t>(cpu), bytes, set.get());
    return sched_setaffinity(0, bytes, set.get()) == 0;
}

}  // namespace wt
