#include "parts/copies/copiers/costs.h"

#include <rte_memcpy.h>
#include <rte_pause.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/clock.h"
#include "core/refusal.h"

namespace wt {

namespace {

constexpr uint32_t line = 64;

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Where the next piece of an area begins: on a line, and behind the one before, or at the begin.
uint64_t advance(uint64_t &at, uint64_t area_bytes, uint32_t bytes) {
    const uint64_t here = at + bytes > area_bytes ? 0 : at;
    at = here + (uint64_t{bytes} + line - 1) / line * line;
    return here;
}

// Pieces of one size, in turn, as those of a run are.
class pieces_of {
  public:
    pieces_of(const copy_areas &areas, uint32_t bytes, uint32_t batch)
        : areas_(areas), bytes_(bytes), pieces_(batch) {}

    const std::vector<copy_piece> &next() {
        for (copy_piece &piece : pieces_)
            piece = {areas_.to.data() + advance(to_, areas_.to.size(), bytes_),
                     areas_.from.data() + advance(from_, areas_.from.size(), bytes_), bytes_};
        return pieces_;
    }

  private:
    copy_areas areas_;
    uint32_t bytes_;
    uint64_t from_ = 0, to_ = 0;
    std::vector<copy_piece> pieces_;
};

double by_cpu(const std::vector<copy_piece> &pieces) {
    const uint64_t start = now();
    for (const copy_piece &p : pieces) rte_memcpy(p.to, p.from, p.bytes);
    return static_cast<double>(now() - start) / static_cast<double>(pieces.size());
}

refusal wrong(const copy_channel &channel, const std::string &what) {
    const std::string breach = channel.breach ? channel.breach(channel.state) : "";
    return refusal("the copier " + channel.device + (breach.empty() ? " " + what : ": " + breach));
}

// The ends of copies that were started, within a bound.
class ends_of {
  public:
    ends_of(const copy_channel &channel, uint32_t batch, uint64_t patience)
        : channel_(channel), patience_(patience), ends_(batch) {}

    // How many have ended, a batch at most. Throws refusal where none has ended for too long.
    uint32_t poll() {
        const uint32_t some =
            channel_.completed(channel_.state, ends_.data(), static_cast<uint32_t>(ends_.size()));
        const uint64_t at = now();
        if (std::ranges::count(ends_.begin(), ends_.begin() + some, copy_end::failed))
            throw wrong(channel_, "fails copies");
        if (some > 0) since_ = at;
        if (at - since_ > patience_) throw wrong(channel_, "does not end its copies");
        if (some == 0) rte_pause();
        return some;
    }

  private:
    const copy_channel &channel_;
    uint64_t patience_, since_ = now();
    std::vector<copy_end> ends_;
};

// Ticks of the caller for one copy of a batch.
double by_copier(const copy_channel &channel, const std::vector<copy_piece> &pieces, uint64_t patience,
                 uint64_t *copies) {
    const auto count = static_cast<uint32_t>(pieces.size());
    ends_of ends(channel, count, patience);
    const uint64_t start = now();
    const uint32_t started = channel.submit(channel.state, pieces.data(), count);
    uint64_t ticks = now() - start;
    *copies += started;
    for (uint32_t ended = 0; ended < started;) {
        const uint64_t before = now();
        const uint32_t some = ends.poll();
        if (some > 0) ticks += now() - before;
        ended += some;
    }
    return static_cast<double>(ticks) / std::max(1u, started);
}

// Ticks a copy while `depth` of them run at a time, over so many batches.
double at_depth(const copy_channel &channel, pieces_of &pieces, uint32_t batch, uint32_t depth,
                uint32_t batches, uint64_t patience, uint64_t *copies) {
    ends_of ends(channel, batch, patience);
    uint64_t started = 0, ended = 0;
    const uint64_t wanted = uint64_t{batch} * batches, start = now();
    while (ended < wanted) {
        const uint64_t room = std::min({uint64_t{batch}, depth - (started - ended), wanted - started});
        if (room > 0)
            started += channel.submit(channel.state, pieces.next().data(), static_cast<uint32_t>(room));
        ended += ends.poll();
    }
    *copies += started;
    return static_cast<double>(now() - start) / static_cast<double>(wanted);
}

}  // namespace

std::vector<double> measure_cpu_copies(std::span<const uint8_t> from, std::span<uint8_t *const> to,
                                       std::span<const uint32_t> sizes, uint32_t batch, uint32_t rounds) {
    std::vector<std::vector<double>> ticks(sizes.size());
    std::vector<copy_piece> pieces(batch);
    uint64_t at = 0, next = 0;
    for (uint32_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < sizes.size(); i++) {
            for (copy_piece &piece : pieces)
                piece = {to[next++ % to.size()], from.data() + advance(at, from.size(), sizes[i]), sizes[i]};
            ticks[i].push_back(by_cpu(pieces));
        }
    std::vector<double> medians;
    for (std::vector<double> &of_size : ticks) medians.push_back(median(std::move(of_size)));
    return medians;
}

void check_copy(const copy_channel &channel, const copy_areas &areas, uint32_t bytes, uint64_t patience) {
    uint8_t *const to = areas.to.data();
    const uint8_t *const from = areas.from.data();
    for (uint32_t i = 0; i < bytes; i++) to[i] = static_cast<uint8_t>(~from[i]);
    uint64_t copies = 0;
    by_copier(channel, {{to, from, bytes}}, patience, &copies);
    if (copies == 0) throw wrong(channel, "takes no copy");
    if (std::memcmp(to, from, bytes) != 0)
        throw wrong(channel, "does not copy " + std::to_string(bytes) + " bytes right");
}

copy_costs measure_costs(const copy_channel &channel, const copy_areas &areas, uint32_t bytes, uint32_t batch,
                         uint32_t depth, uint32_t rounds, uint64_t patience) {
    pieces_of pieces(areas, bytes, batch);
    std::vector<double> cpu, caller;
    copy_costs found{};
    for (uint32_t round = 0; round < rounds; round++) {
        cpu.push_back(by_cpu(pieces.next()));
        caller.push_back(by_copier(channel, pieces.next(), patience, &found.copies));
    }
    found.cpu = median(cpu);
    found.caller = median(caller);
    if (depth > 0) found.copier = at_depth(channel, pieces, batch, depth, rounds, patience, &found.copies);
    return found;
}

}  // namespace wt
