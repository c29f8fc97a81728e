// What a pipeline counts, under the names that the run shows.
#pragma once

#include <windtunnel/handler.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "parts/swx/pipeline.h"

namespace wt {

class counted_pipeline {
  public:
    explicit counted_pipeline(const pipeline &of);

    const wt_step_name *steps() const { return steps_.data(); }
    const wt_counter *counters() const { return counters_.data(); }

    // Called beside the worker: reads what the pipeline counts in whole words.
    void read(uint64_t *values) {
        for (const auto &part : parts_) values = part(values);
    }

  private:
    // Reads some counters and returns where the next ones go.
    using part = std::function<uint64_t *(uint64_t *values)>;
    struct counter {
        const char *name, *unit;
        wt_counter_kind kind;
    };

    // As long as a handler may have more of them; what it may not is counted in not_shown_.
    void add(const std::string &of, std::initializer_list<counter> counters, part read);
    void add_table(const pipeline_table &table);
    void add_learner(uint32_t id);
    void add_selector(uint32_t id);
    void add_ports();
    void add_meters(uint32_t id);
    void add_registers(uint32_t id);
    void add_drops();

    const pipeline &of_;
    std::vector<uint64_t> by_action_;  // room for what DPDK counts beside hits and misses
    std::vector<wt_step_name> steps_;
    std::vector<wt_counter> counters_;
    std::deque<std::string> names_;  // to which they point
    std::vector<part> parts_;
    size_t not_shown_ = 0;
};

}  // namespace wt
