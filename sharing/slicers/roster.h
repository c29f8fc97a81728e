// The members that share the core, and what the kicking thread and the command thread have in common.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "slicers/waiting.h"

namespace wt {

struct member {
    int tid;
    uint32_t weight;
    int nice_high, nice_low;  // the two steps between which its weight lies; high is the smaller number
    uint64_t started = 0;     // by which it is told from a later thread of its number (task.h)
};

inline bool same_thread(const member &a, const member &b) { return a.tid == b.tid && a.started == b.started; }

using roster = std::vector<member>;

// Numbers from one thread to another; when it is full, the newest are lost.
class samples {
  public:
    void push(uint32_t value) {
        const uint32_t at = in_.load(std::memory_order_relaxed);
        if (at - out_.load(std::memory_order_acquire) == size) return;
        values_[at % size] = value;
        in_.store(at + 1, std::memory_order_release);
    }

    template <typename Take>
    void drain(Take take) {
        uint32_t at = out_.load(std::memory_order_relaxed);
        const uint32_t end = in_.load(std::memory_order_acquire);
        for (; at != end; at++) take(values_[at % size]);
        out_.store(at, std::memory_order_release);
    }

  private:
    static constexpr uint32_t size = 1u << 14;
    std::atomic<uint32_t> in_ = 0, out_ = 0;
    uint32_t values_[size];
};

// Between the two threads. A roster is never changed once it is shown; the old one is kept until the sharing
// thread uses the new one.
struct shared_core {
    std::atomic<uint64_t> slice_ns = 0;
    uint64_t turn_cost_ns = 0;  // what switching takes of a turn; set before the threads start
    std::atomic<const roster *> shown = nullptr;
    std::atomic<const roster *> used = nullptr;
    std::atomic<bool> stop = false;
    std::atomic<uint64_t> kicks = 0;
    std::atomic<uint64_t> due_ns = 0;  // of the last kick from another core
    std::atomic<bool> idle = true;     // the kicking thread reports: no member to choose
    std::atomic<int> worker_tid = 0;
    std::atomic<uint32_t> word = 0;  // the sharing thread sleeps on it
    samples late;

    void wake() { wake_word(word); }
};

}  // namespace wt
