// Carries the traced loops of all workers to a file of fixed-size events, as main's part of a trace.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/trace.h"
#include "plan/plan.h"

namespace wt {

// The file's first bytes; trace_events follow, those of one worker in the order of its loops.
struct trace_header {
    char magic[8] = {'W', 'T', 'T', 'R', 'A', 'C', 'E', '1'};
    uint64_t start_tsc;  // the engine's start, from which its lines count their nanoseconds
    double ns_per_tick;
    uint64_t event_bytes = sizeof(trace_event);
};
static_assert(sizeof(trace_header) == 32);

struct traced {
    uint64_t events, missed;           // in the file; not in it
    std::optional<std::string> fault;  // why the file ends early
};

class tracer {
  public:
    // Creates the file. Throws refusal where it exists or cannot be made.
    tracer(const trace_plan &plan, const std::vector<worker_plan> &workers, uint64_t start_tsc,
           double ns_per_tick);
    ~tracer();
    tracer(const tracer &) = delete;
    tracer &operator=(const tracer &) = delete;

    worker_trace *of(size_t worker) { return &workers_[worker]; }

    // Writes what there is, up to the limit. A failure (a full disk) ends the file after a whole event, not
    // the run.
    void drain();
    // After the workers have stopped.
    traced close();

  private:
    void drain(worker_trace &from);
    bool append(const void *bytes, size_t count);

    uint64_t limit_;
    uint64_t events_ = 0, missed_ = 0, bytes_ = 0;
    std::optional<std::string> fault_;
    std::deque<worker_trace> workers_;
    int file_;
};

}  // namespace wt
