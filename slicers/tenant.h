// A tenant that polls and measures itself: requests come from within (or from a ring), each costs a service
// time of its own CPU, and every poll looks at the clock, so that it sees when it was not running.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "core/arrivals.h"
#include "core/histogram.h"
#include "slicers/post.h"

namespace wt {

enum class empty_poll { poll, yield, sleep };
constexpr const char *empty_poll_names[] = {"poll", "yield", "sleep"};

struct tenant_plan {
    arrival_phases phases;  // of arrivals made within, in ns; none where they come from a ring
    std::string ring;       // file of a posting ring
    uint64_t seed;
    uint64_t service_ns;
    uint64_t working_set_bytes;  // a request touches `touched_bytes` of it, at a random place
    uint64_t touched_bytes;
    uint32_t queue;  // requests that may wait; further requests are lost
    empty_poll when_empty;
    uint32_t after_polls;  // empty polls in a row before it yields or sleeps
    uint64_t gap_ns;       // a silence of its own CPU that is longer than this is a gap
    uint64_t start_ns;     // of CLOCK_MONOTONIC; 0: at once
    uint64_t warmup_ns, duration_ns, window_ns;
    int cpu;  // to pin itself to; -1: as it is started
};

// What one window has counted. Latency is from the intended moment to the end of service, wait to its
// beginning; posted is from the moment at which a dispatcher really posted it.
struct tenant_window {
    uint64_t begin_ns, end_ns, own_ns, served_ns;
    uint64_t offered, served, lost, polls, empty_polls, yields;
    latency_histogram latency, wait, posted;
    histogram<7, 36> slices, gaps;
    void clear(uint64_t now);
};

// Two windows: the polling thread fills one, the other is read. A window that is not read in time continues.
class tenant {
  public:
    explicit tenant(const tenant_plan &plan);
    ~tenant();
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
    struct request {
        uint64_t intended_ns, posted_ns;
    };
    uint64_t look();  // at the clock; keeps account of gaps
    void arrive(uint64_t now);
    void serve();
    void touch();
    void idle(uint64_t now);
    void turn_window(uint64_t now, bool last);

    tenant_plan plan_;
    arrival_cursor cursor_{};
    posting_ring *ring_ = nullptr;
    std::vector<request> waiting_;  // a ring of its own: power of two
    uint64_t head_ = 0, tail_ = 0;
    std::vector<uint64_t> working_set_;
    uint64_t random_;
    uint32_t empty_in_a_row_ = 0;
    uint64_t last_ns_ = 0, slice_began_ns_ = 0, worked_ns_ = 0;
    tenant_window windows_[2];
    tenant_window *w_ = windows_;
    std::atomic<const tenant_window *> done_ = nullptr;
    std::atomic<bool> stop_ = false, ended_ = false;
    std::atomic<int> tid_ = 0;
};

}  // namespace wt
