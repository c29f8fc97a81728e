// A DPDK SWX pipeline, built from a spec's object, with our ends and its tables filled.
#pragma once

#include <rte_ring.h>
#include <rte_swx_pipeline.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parts/swx/fill.h"
#include "parts/swx/inside.h"

namespace wt {

struct spec_plan {
    std::string spec, tables;  // files; no tables: ""
    std::string compiler;
    uint32_t ports;                // of output; one more is the pipeline's drop
    std::optional<uint32_t> host;  // packets sent to this one are passed on
    int socket;                    // of the worker
};

struct pipeline_free {
    void operator()(rte_swx_pipeline *pipeline) const { rte_swx_pipeline_free(pipeline); }
};
struct eal_ring_free {
    void operator()(rte_ring *ring) const { rte_ring_free(ring); }
};

class pipeline {
  public:
    // Compiles where the cache has no object. Throws refusal in words about a file and its line. Needs EAL.
    explicit pipeline(const spec_plan &plan);

    ~pipeline();
    pipeline(const pipeline &) = delete;
    pipeline &operator=(const pipeline &) = delete;

    // `steps`: null, or WT_SWX_TABLES and one for each table, at most WT_MAX_STEPS.
    void run(wt_packet *burst, uint32_t count, wt_step *steps) {
        if (__builtin_expect(steps == nullptr, 1))
            inside_->run(pipeline_.get(), &ends_, burst, count);
        else
            inside_->run_timed(pipeline_.get(), &ends_, burst, count, steps);
    }

    const wt_swx_ends &ends() const { return ends_; }
    const std::vector<pipeline_table> &tables() const { return tables_; }
    rte_swx_pipeline *get() const { return pipeline_.get(); }

  private:
    void build(const spec_plan &plan, const std::string &object);
    void build_empty(const std::string &object);

    // A port of DPDK's kind is needed to build a pipeline at all; nothing ever enters by it.
    std::unique_ptr<rte_ring, eal_ring_free> entrance_;
    std::unique_ptr<rte_swx_pipeline, pipeline_free> pipeline_;
    const wt_swx_inside *inside_ = nullptr;
    std::vector<wt_swx_out> out_;
    wt_swx_ends ends_{};
    std::vector<pipeline_table> tables_;
    int socket_;
};

}  // namespace wt
