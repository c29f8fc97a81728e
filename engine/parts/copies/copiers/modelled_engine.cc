#include "parts/copies/copiers/modelled_engine.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace wt {

namespace {

// Where there is no device, a rate that nobody asks for.
size_curve rate_of(const modelled_engine_plan &numbers, double ticks_per_ns) {
    std::vector<curve_point_plan> points{{1, 1}};
    if (numbers.device) points = numbers.device->bytes_per_ns;
    for (curve_point_plan &point : points) point.value = 1 / point.value;
    return {points, ticks_per_ns};
}

}  // namespace

modelled_engine::modelled_engine(const modelled_engine_plan &numbers, double ticks_per_ns, uint32_t depth)
    : burst_(numbers.burst_ns * ticks_per_ns),
      poll_(numbers.poll_ns * ticks_per_ns),
      end_(numbers.end_ns * ticks_per_ns),
      copy_(numbers.copy_ns, ticks_per_ns),
      ticks_per_byte_(rate_of(numbers, ticks_per_ns)),
      most_(depth) {
    if (numbers.device) {
        const modelled_device_plan &device = *numbers.device;
        latency_ = device.latency_ns * ticks_per_ns;
        reports_bursts_ = device.reports_bursts;
        busy_until_.resize(device.at_once);
        most_ = std::min(depth, device.queue);
    }
    reported_at_.resize(std::bit_ceil(most_));
}

uint64_t modelled_engine::whole(double ticks) {
    owed_ += ticks;
    const double whole = std::floor(owed_);
    owed_ -= whole;
    return static_cast<uint64_t>(whole);
}

uint32_t modelled_engine::room(uint32_t count) const { return std::min(count, most_ - (tail_ - head_)); }

// When a copy that begins at `at`, or as soon as a queue is free, is reported.
uint64_t modelled_engine::begin_and_end(uint32_t bytes, uint64_t at) {
    if (immediate()) return at;
    uint64_t &queue = *std::ranges::min_element(busy_until_);
    const double ticks = ticks_per_byte_.at(bytes) * bytes;
    queue = std::max(queue, at) + static_cast<uint64_t>(std::llround(ticks));
    return queue + static_cast<uint64_t>(std::llround(latency_));
}

void modelled_engine::start(const copy_piece *pieces, uint32_t count, uint64_t at) {
    const uint32_t first = tail_;
    for (uint32_t i = 0; i < count; i++) {
        last_ = std::max(last_, begin_and_end(pieces[i].bytes, at));
        reported_at(tail_++) = last_;
    }
    for (uint32_t copy = first; reports_bursts_ && copy != tail_; copy++) reported_at(copy) = last_;
}

uint32_t modelled_engine::take_ended(uint32_t most, uint64_t by) {
    uint32_t count = 0;
    for (; count < most && head_ != tail_ && reported_at(head_) <= by; head_++) count++;
    return count;
}

}  // namespace wt
