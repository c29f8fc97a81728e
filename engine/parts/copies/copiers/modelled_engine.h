// What an engine that is given as figures costs, and when its copies end. Arithmetic alone: it moves nothing
// and reads no clock, and all times are ticks of the run.
//
// Copies end in the order in which they were started. One begins when its burst is submitted and one of the
// engine's queues is free, takes the time that its bytes take, and is reported a latency later.
#pragma once

#include <cstdint>
#include <vector>

#include "parts/copies/copiers/copier.h"
#include "parts/copies/copiers/size_curve.h"

namespace wt {

class modelled_engine {
  public:
    // `depth`: most copies that are started and not reported, where the engine's own queue is not shorter.
    modelled_engine(const modelled_engine_plan &numbers, double ticks_per_ns, uint32_t depth);

    // Whether copies have ended with their submit: there is nothing beside the worker.
    bool immediate() const { return busy_until_.empty(); }

    // How many of `count` copies find room.
    uint32_t room(uint32_t count) const;

    // What a submit costs the worker: for the call, and for one copy. Whole ticks; what is left of one is a
    // part of the next.
    uint64_t burst_cost() { return whole(burst_); }
    uint64_t copy_cost(uint32_t bytes) { return whole(copy_.at(bytes)); }

    // Starts copies that find room, at the end of their submit.
    void start(const copy_piece *pieces, uint32_t count, uint64_t at);

    // How many copies, `most` at the most, have been ended by then and were not reported; they are now.
    uint32_t take_ended(uint32_t most, uint64_t by);

    // What a poll costs the worker that found so many.
    uint64_t poll_cost(uint32_t found) { return whole(poll_ + end_ * found); }

  private:
    uint64_t whole(double ticks);
    uint64_t begin_and_end(uint32_t bytes, uint64_t at);
    uint64_t &reported_at(uint32_t copy) { return reported_at_[copy % reported_at_.size()]; }

    double burst_, poll_, end_, latency_ = 0;
    size_curve copy_, ticks_per_byte_;
    bool reports_bursts_ = false;
    double owed_ = 0;                      // less than a tick
    std::vector<uint64_t> busy_until_;     // of each queue of the engine; empty: immediate
    std::vector<uint64_t> reported_at_;    // of copies that are started and not reported, a ring
    uint32_t most_, head_ = 0, tail_ = 0;  // modulo 2^32
    uint64_t last_ = 0;                    // when the last copy is reported
};

}  // namespace wt
