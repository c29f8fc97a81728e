#include "copiers/break_even.h"

#include <rte_malloc.h>

#include <algorithm>
#include <memory>

#include "copiers/costs.h"
#include "core/refusal.h"

namespace wt {

namespace {

constexpr uint32_t rounds = 31, least = 64;

struct rte_memory {
    void operator()(uint8_t *at) const { rte_free(at); }
};

}  // namespace

break_even measure_break_even(const copy_channel &channel, std::span<const uint8_t> source, uint32_t largest,
                              uint32_t batch, uint64_t patience) {
    const size_t room = size_t{(std::max(largest, least) + least - 1) / least * least} * batch;
    const std::unique_ptr<uint8_t, rte_memory> to(
        static_cast<uint8_t *>(rte_malloc("copies before the run", room, least)));
    if (!to) throw refusal("no memory to measure copies", "use a smaller batch, or a size for at_least");
    break_even found{0, 0};
    for (uint32_t bytes = std::min(least, largest);; bytes = std::min(bytes * 2, largest)) {
        const copy_costs costs =
            measure_costs(channel, {source, {to.get(), room}}, bytes, batch, 0, rounds, patience);
        found.copies += costs.copies;
        if (costs.caller < costs.cpu) return {bytes, found.copies};
        if (bytes == largest) return {largest + 1, found.copies};
    }
}

}  // namespace wt
