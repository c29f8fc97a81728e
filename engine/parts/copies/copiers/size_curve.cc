#include "parts/copies/copiers/size_curve.h"

#include <algorithm>
#include <cmath>

namespace wt {

size_curve::size_curve(const std::vector<curve_point_plan> &points, double times) {
    for (const auto &[bytes, value] : points)
        points_.push_back({bytes, value * times, std::log(bytes), std::log(value * times)});
}

double size_curve::at(uint32_t bytes) const {
    const auto behind = std::ranges::lower_bound(points_, bytes, {}, &point::bytes);
    if (behind == points_.begin()) return behind->value;
    const point &before = behind[-1];
    if (behind == points_.end()) return before.value;
    const double way = (std::log(bytes) - before.log_bytes) / (behind->log_bytes - before.log_bytes);
    return std::exp(before.log_value + way * (behind->log_value - before.log_value));
}

}  // namespace wt
