#include "run/delay.h"

#include <rte_pause.h>

#include <algorithm>

namespace wt {

// A wait that took so much too long was one in which the host took the core: it is no advance on the next.
constexpr int64_t most_advance = 1'000;  // ticks

call_result delayed(void *role, const stage_call &call) {
    delay &d = *static_cast<delay *>(role);
    const call_result r = d.inner(d.role, call);
    if (r.objects == 0 || d.ticks == 0) return r;
    d.counted += d.ticks * r.objects;
    const uint64_t added = d.counted >> delay_fraction_bits;
    d.counted -= added << delay_fraction_bits;
    call.stats->delay_cycles += added;
    d.debt += static_cast<int64_t>(added);
    if (d.debt < d.stamp) return r;
    const uint64_t start = now();
    int64_t waited;
    do {
        rte_pause();
        waited = static_cast<int64_t>(now() - start) + d.stamp;
    } while (waited < d.debt);
    d.debt = std::max(d.debt - waited, -most_advance);
    return r;
}

}  // namespace wt
