// What a pipeline counts, under the names that the run shows.
#pragma once

#include <windtunnel/handler.h>

#include <cstdint>
#include <string>
#include <vector>

#include "swx/pipeline.h"

namespace wt {

class counted_pipeline {
  public:
    explicit counted_pipeline(const pipeline &of);

    const wt_step_name *steps() const { return steps_.data(); }
    const wt_counter *counters() const { return counters_.data(); }

    // Called beside the worker: reads what the pipeline counts in whole words.
    void read(uint64_t *values);

  private:
    const pipeline &of_;
    uint32_t shown_tables_;
    std::vector<uint64_t> by_action_;  // room for what DPDK counts beside hits and misses
    std::vector<wt_step_name> steps_;
    std::vector<wt_counter> counters_;
};

}  // namespace wt
