// A figure that depends on a size: points, and what lies between them.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace wt {

// Straight between two points where both axes are logarithmic, as costs and rates of copies are shown. Beyond
// the first point and the last one it is level.
class size_curve {
  public:
    // `points`: at least one, ascending by size, and above 0 where there are several. Each is multiplied.
    size_curve(const std::vector<curve_point_plan> &points, double times);

    double at(uint32_t bytes) const;

  private:
    struct point {
        uint32_t bytes;
        double value, log_bytes, log_value;
    };
    std::vector<point> points_;
};

}  // namespace wt
