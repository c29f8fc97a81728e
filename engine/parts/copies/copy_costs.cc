#include "parts/copies/copy_costs.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <span>

#include "core/packet.h"
#include "core/refusal.h"
#include "parts/copies/copiers/break_even.h"
#include "parts/copies/copiers/costs.h"
#include "parts/copies/copying.h"
#include "run/run.h"
#include "stages/application.h"

namespace wt {

using json = nlohmann::ordered_json;

namespace {

constexpr uint32_t rounds = 31, least = 64, most_at_once = 2 << 20;  // bytes

const segmentation &shape_of_copied(const application &a) {
    return bodies_of(a).source ? a.request : a.response;
}

uint32_t largest_body(const application &a) {
    return std::min(shape_of_copied(a).segment_body, shape_of_copied(a).body_bytes);
}

// 64 bytes, and what is twice as much each, up to the largest.
std::vector<uint32_t> sizes_up_to(uint32_t largest) {
    std::vector<uint32_t> sizes;
    for (uint32_t bytes = least; bytes < largest; bytes *= 2) sizes.push_back(bytes);
    sizes.push_back(largest);
    return sizes;
}

// mbufs of the pool from which packets are made: they go back before any is. Past the caches of lcores, where
// they would stay.
class lent_mbufs {
  public:
    lent_mbufs(rte_mempool *pool, uint64_t most) : pool_(pool) {
        mbufs_.resize(std::min<uint64_t>(most, rte_mempool_avail_count(pool)));
        const auto count = static_cast<unsigned>(mbufs_.size());
        if (count == 0 || rte_mempool_generic_get(pool, mbufs_.data(), count, nullptr) != 0)
            throw refusal("no mbufs to measure copies with", "use a larger mempool.size");
    }
    ~lent_mbufs() {
        rte_mempool_generic_put(pool_, mbufs_.data(), static_cast<unsigned>(mbufs_.size()), nullptr);
    }
    lent_mbufs(const lent_mbufs &) = delete;
    lent_mbufs &operator=(const lent_mbufs &) = delete;

    // Where the bodies of packets are, with memory behind them. In no order, as mbufs come back in a run: one
    // behind the other they would be fetched ahead, and copies cost a third less.
    std::vector<uint8_t *> bodies(uint32_t bytes) const {
        std::vector<uint8_t *> found;
        for (void *const m : mbufs_) {
            found.push_back(rte_pktmbuf_mtod_offset(static_cast<rte_mbuf *>(m), uint8_t *, body_offset));
            std::memset(found.back(), 0, bytes);
        }
        std::ranges::shuffle(found, std::minstd_rand());
        return found;
    }

  private:
    rte_mempool *pool_;
    std::vector<void *> mbufs_;
};

// What messages take of the source: with order = "hot" the same bytes each.
std::span<const uint8_t> source_area(const application &a, const workload_plan &w) {
    const source_layout &layout = source_of(a).layout;
    return {source_of(a).bytes, std::min(w.source->bytes, layout.parts * layout.part_bytes)};
}

// How many mbufs the bodies of packets go to in turn. A cache of an lcore gives first what came last; what it
// has no room for, and what another worker frees, goes round through the whole pool.
uint64_t mbufs_in_turn(const run_state &f, const application &a, const workload_plan &w) {
    const uint64_t in_flight = uint64_t{w.client_slots} * shape_of_copied(a).segments;
    const bool within_cache = f.plan.workers.size() == 1 && in_flight <= a.pool->cache_size;
    return within_cache ? in_flight : a.pool->size;
}

// A batch of large copies would take long, and as much memory.
uint32_t batch_of(const body_copying &c, uint32_t largest) {
    return std::clamp(most_at_once / largest, 1u, c.batch);
}

// The memory that a handler will name is not known before it does: without a source, copies come from memory
// of their own, a batch's.
cpu_copies measured_by_cpu(const run_state &f, const application &a, const workload_plan &w,
                           const copy_places *places, uint32_t largest) {
    const uint32_t batch = batch_of(copying_of(a), largest);
    const std::vector<uint32_t> sizes = sizes_up_to(largest);
    if (places) {
        const std::span<const uint8_t> from = source_area(a, w);
        const std::vector<uint8_t *> &to = places->begins;
        return {from.size(), to.size(), sizes, measure_cpu_copies(from, to, sizes, batch, rounds)};
    }
    const lent_mbufs mbufs(a.pool, mbufs_in_turn(f, a, w));
    const std::vector<uint8_t> own(bodies_of(a).source ? 0 : size_t{largest} * batch);
    const std::span<const uint8_t> from =
        bodies_of(a).source ? source_area(a, w) : std::span<const uint8_t>(own);
    const std::vector<uint8_t *> to = mbufs.bodies(largest);
    return {from.size(), to.size(), sizes, measure_cpu_copies(from, to, sizes, batch, rounds)};
}

void measure_at_least(application &a, const workload_plan &w, const cpu_copies &by_cpu) {
    body_copying &c = copying_of(a);
    const break_even found = measure_break_even(c.channel, source_area(a, w), by_cpu.sizes, by_cpu.ticks,
                                                batch_of(c, by_cpu.sizes.back()), c.timeout);
    c.submitted += found.copies;
    c.measuring += found.copies;
    c.ended += found.copies;
    c.at_least = found.at_least;
}

}  // namespace

void measure_copies(run_state &f, application &a, const workload_plan &w, const copy_places *places) {
    const body_copying &c = copying_of(a);
    const uint32_t largest = places ? places->bytes : largest_body(a);
    if (c.channel.immediate || c.way == copy_way::zero || largest == 0) return;
    std::optional<cpu_copies> &by_cpu = bodies_of(a).shared->by_cpu;
    if (!by_cpu) {
        f.lines.phase("measuring what copies by the CPU cost");
        by_cpu = measured_by_cpu(f, a, w, places, largest);
    }
    if (w.copies->at_least_bytes || !bodies_of(a).source) return;
    f.lines.phase("measuring from which size " + w.copies->engine + " saves cycles");
    measure_at_least(a, w, *by_cpu);
}

json cpu_copies_json(const application &a) {
    const std::optional<cpu_copies> &by_cpu = bodies_of(a).shared->by_cpu;
    if (!by_cpu) return json();
    const cpu_copies &measured = *by_cpu;
    json costs = json::array();
    for (size_t i = 0; i < measured.sizes.size(); i++)
        costs.push_back({{"bytes", measured.sizes[i]}, {"cycles", measured.ticks[i]}});
    return {{"from_bytes", measured.from_bytes}, {"to_places", measured.to_places}, {"costs", costs}};
}

}  // namespace wt
