#include "parts/copies/copiers/break_even.h"

#include <rte_malloc.h>

#include <algorithm>

#include "core/eal_memory.h"
#include "core/refusal.h"
#include "parts/copies/copiers/costs.h"

namespace wt {

namespace {

constexpr uint32_t rounds = 31, least = 64;

}  // namespace

break_even measure_break_even(const copy_channel &channel, std::span<const uint8_t> source,
                              std::span<const uint32_t> sizes, std::span<const double> by_cpu, uint32_t batch,
                              uint64_t patience) {
    const uint32_t largest = sizes.back();
    const size_t rounded = size_t{(std::max(largest, least) + least - 1) / least} * least,
                 room = rounded * batch;
    const eal_memory to(static_cast<uint8_t *>(rte_malloc("copies before the run", room, least)));
    if (!to) throw refusal("no memory to measure copies", "use a smaller batch, or a size for at_least");
    break_even found{largest + 1, 0};
    for (size_t i = 0; i < sizes.size() && found.at_least > largest; i++) {
        const copy_costs costs =
            measure_costs(channel, {source, {to.get(), room}}, sizes[i], batch, 0, rounds, patience);
        found.copies += costs.copies;
        if (costs.caller < by_cpu[i]) found.at_least = sizes[i];
    }
    return found;
}

}  // namespace wt
