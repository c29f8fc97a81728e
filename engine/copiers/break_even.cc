#include "copiers/break_even.h"

#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_memcpy.h>
#include <rte_pause.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "core/refusal.h"

namespace wt {

namespace {

constexpr uint32_t rounds = 31, least = 64;

struct rte_memory {
    void operator()(uint8_t *at) const { rte_free(at); }
};

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Pieces of one size that come from a source in turn, as those of a run do.
class pieces_of {
  public:
    pieces_of(std::span<const uint8_t> source, uint8_t *to, uint32_t stride, uint32_t batch)
        : source_(source), to_(to), stride_(stride), pieces_(batch) {}

    const std::vector<copy_piece> &next(uint32_t bytes) {
        for (uint32_t i = 0; i < pieces_.size(); i++) {
            if (at_ + bytes > source_.size()) at_ = 0;
            pieces_[i] = {to_ + size_t{i} * stride_, source_.data() + at_, bytes};
            at_ += stride_;
        }
        return pieces_;
    }

  private:
    std::span<const uint8_t> source_;
    uint8_t *to_;
    uint32_t stride_;
    std::vector<copy_piece> pieces_;
    uint64_t at_ = 0;
};

double by_cpu(const std::vector<copy_piece> &pieces) {
    const uint64_t start = rte_rdtsc();
    for (const copy_piece &p : pieces) rte_memcpy(p.to, p.from, p.bytes);
    return static_cast<double>(rte_rdtsc() - start) / static_cast<double>(pieces.size());
}

// Ticks of the caller for one copy of a batch; *copies: those that were started.
double by_copier(const copy_channel &channel, const std::vector<copy_piece> &pieces, uint64_t patience,
                 uint64_t *copies) {
    std::vector<copy_end> ends(pieces.size());
    const auto count = static_cast<uint32_t>(pieces.size());
    const uint64_t start = rte_rdtsc();
    const uint32_t started = channel.submit(channel.state, pieces.data(), count);
    uint64_t ticks = rte_rdtsc() - start;
    *copies += started;
    for (uint32_t ended = 0; ended < started;) {
        const uint64_t before = rte_rdtsc();
        const uint32_t some = channel.completed(channel.state, ends.data(), started - ended);
        const uint64_t after = rte_rdtsc();
        if (some > 0) ticks += after - before;
        if (std::ranges::count(ends.begin(), ends.begin() + some, copy_end::failed))
            throw refusal("the copier " + channel.device + " fails before the run");
        if (after - start > patience)
            throw refusal("the copier " + channel.device + " does not end its copies");
        ended += some;
        if (some == 0) rte_pause();
    }
    return static_cast<double>(ticks) / std::max(1u, started);
}

}  // namespace

break_even measure_break_even(const copy_channel &channel, std::span<const uint8_t> source, uint32_t largest,
                              uint32_t batch, uint64_t patience) {
    const uint32_t stride = (std::max(largest, least) + least - 1) / least * least;
    const std::unique_ptr<uint8_t, rte_memory> to(
        static_cast<uint8_t *>(rte_malloc("copies before the run", size_t{stride} * batch, least)));
    if (!to) throw refusal("no memory to measure copies", "use a smaller batch, or a size for at_least");
    pieces_of pieces(source, to.get(), stride, batch);
    break_even found{0, 0};
    for (uint32_t bytes = std::min(least, largest);; bytes = std::min(bytes * 2, largest)) {
        std::vector<double> cpu, copier;
        for (uint32_t round = 0; round < rounds; round++) {
            cpu.push_back(by_cpu(pieces.next(bytes)));
            copier.push_back(by_copier(channel, pieces.next(bytes), patience, &found.copies));
        }
        if (median(copier) < median(cpu)) return {bytes, found.copies};
        if (bytes == largest) return {largest + 1, found.copies};
    }
}

}  // namespace wt
