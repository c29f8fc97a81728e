// A tenant that polls and measures itself: requests come from within, each costs a service time of its own
// CPU, and every poll looks at the clock, so that it sees when it was not running.
#pragma once

#include <atomic>
#include <vector>

#include "core/arrivals.h"
#include "core/histogram.h"

namespace wt {

enum class empty_poll { poll, sleep };
constexpr const char *empty_poll_names[] = {"poll", "sleep"};

struct tenant_plan {
    arrival_phases phases;  // of arrivals, in ns
    uint64_t seed;
    uint64_t service_ns;
    uint64_t working_set_bytes;  // a request touches `touched_bytes` of it, at a random place
    uint64_t touched_bytes;
    uint32_t queue;  // requests that may wait; further requests are lost
    empty_poll when_empty;
    uint64_t gap_ns;    // a silence of its own CPU that is longer than this is a gap
    uint64_t start_ns;  // of CLOCK_MONOTONIC; 0: at once
    uint64_t warmup_ns, duration_ns, window_ns;
    int cpu;  // to pin itself to; -1: as it is started
};

// What one window has counted. Latency is from the intended moment to the end of service, wait to its
// beginning.
struct tenant_window {
    uint64_t begin_ns, end_ns, own_ns, served_ns;
    uint64_t offered, served, lost, polls, empty_polls, sleeps;
    latency_histogram latency, wait;
    histogram<7, 36> slices, gaps;
    void clear(uint64_t now);
};

// Two windows: the polling thread fills one, the other is read. A window that is not read in time continues.
class tenant {
  public:
    explicit tenant(const tenant_plan &plan);
    tenant(const tenant &) = delete;
    tenant &operator=(const tenant &) = delete;

    void run();  // on the polling thread, until the end or stop()
    void stop() { stop_.store(true, std::memory_order_release); }

    // For the reading thread: a finished window, or null. To be given back once it is read.
    const tenant_window *finished() { return done_.load(std::memory_order_acquire); }
    void give_back() { done_.store(nullptr, std::memory_order_release); }
    bool ended() const { return ended_.load(std::memory_order_acquire); }
    int tid() const { return tid_.load(std::memory_order_acquire); }

  private:
    uint64_t look();  // at the clock; keeps account of gaps
    void arrive(uint64_t now);
    void serve();
    void touch();
    void idle(uint64_t now);
    void turn_window(uint64_t now, bool last);

    tenant_plan plan_;
    arrival_cursor cursor_{};
    std::vector<uint64_t> waiting_;  // intended moments, in a ring: power of two
    uint64_t head_ = 0, tail_ = 0;
    std::vector<uint64_t> working_set_;
    uint64_t random_;
    uint64_t last_ns_ = 0, slice_began_ns_ = 0, worked_ns_ = 0;
    tenant_window windows_[2];
    tenant_window *w_ = windows_;
    std::atomic<const tenant_window *> done_ = nullptr;
    std::atomic<bool> stop_ = false, ended_ = false;
    std::atomic<int> tid_ = 0;
};

}  // namespace wt
