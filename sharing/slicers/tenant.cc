#include "slicers/tenant.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "core/random.h"
#include "core/refusal.h"
#include "core/run_on_cpu.h"
#include "slicers/task.h"
#include "slicers/waiting.h"

namespace wt {

constexpr uint32_t at_once = 64;         // arrivals taken in one poll
constexpr uint64_t interrupt_ns = 1000;  // between two reads of the clock: a longer gap was not own work

void tenant_window::clear(uint64_t now) {
    begin_ns = end_ns = now;
    own_ns = served_ns = offered = served = lost = polls = empty_polls = sleeps = 0;
    latency.clear();
    wait.clear();
    slices.clear();
    gaps.clear();
}

tenant::tenant(const tenant_plan &plan)
    : plan_(plan),
      waiting_(std::bit_ceil(plan.queue)),
      working_set_(plan.working_set_bytes / sizeof(uint64_t)),
      random_(plan.seed) {
    for (tenant_window &w : windows_) w.clear(0);
    for (size_t i = 0; i < working_set_.size(); i++)
        working_set_[i] = i;  // pages are there before the first request
}

static uint64_t cpu_ns() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

uint64_t tenant::look() {
    const uint64_t now = monotonic_ns(), passed = now - last_ns_;
    if (passed < interrupt_ns) {
        worked_ns_ += passed;
    } else if (passed > plan_.gap_ns) {
        w_->slices.add(last_ns_ - slice_began_ns_);
        w_->gaps.add(passed);
        slice_began_ns_ = now;
    }
    last_ns_ = now;
    return now;
}

void tenant::arrive(uint64_t now) {
    uint64_t intended[at_once];
    const uint32_t due = arrival_walk_due(cursor_, now, at_once, intended);
    w_->offered += due;
    for (uint32_t i = 0; i < due; i++) {
        if (head_ - tail_ < plan_.queue)
            waiting_[head_++ & (waiting_.size() - 1)] = intended[i];
        else
            w_->lost++;
    }
}

void tenant::touch() {
    constexpr size_t line = 64 / sizeof(uint64_t);
    const size_t lines = working_set_.size() / line;
    if (!lines) return;
    size_t at = random_below(&random_, lines);
    for (uint64_t touched = 0; touched < plan_.touched_bytes;
         touched += 64, at = at + 1 == lines ? 0 : at + 1)
        working_set_[at * line]++;
}

// Service is counted in own CPU time: time in which another thread runs is not service.
void tenant::serve() {
    const uint64_t intended = waiting_[tail_++ & (waiting_.size() - 1)];
    const uint64_t begin = last_ns_, worked = worked_ns_;
    touch();
    uint64_t now = look();
    while (worked_ns_ - worked < plan_.service_ns && !stop_.load(std::memory_order_relaxed)) now = look();
    w_->served++;
    w_->served_ns += worked_ns_ - worked;
    const auto since = [](uint64_t from, uint64_t to) { return to > from ? to - from : 0; };
    w_->latency.add(since(intended, now));
    w_->wait.add(since(intended, begin));
}

void tenant::idle(uint64_t now) {
    w_->empty_polls++;
    if (plan_.when_empty == empty_poll::poll) return;
    w_->sleeps++;
    const uint64_t until = std::min(arrival_time(cursor_), now + 10'000'000);
    const timespec at = {static_cast<time_t>(until / 1'000'000'000u),
                         static_cast<long>(until % 1'000'000'000u)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
    last_ns_ = slice_began_ns_ = monotonic_ns();  // its own choice, and no gap
}

void tenant::turn_window(uint64_t now, bool last) {
    if (done_.load(std::memory_order_acquire) && !last) return;
    w_->end_ns = now;
    tenant_window *next = w_ == windows_ ? windows_ + 1 : windows_;
    const uint64_t cpu = cpu_ns();
    w_->own_ns = cpu - w_->own_ns;
    while (last && done_.load(std::memory_order_acquire)) sched_yield();
    next->clear(now);
    next->own_ns = cpu;
    done_.store(w_, std::memory_order_release);
    w_ = next;
}

void tenant::run() {
    if (plan_.cpu >= 0 && !run_on_cpu(plan_.cpu))
        throw refusal("CPU " + std::to_string(plan_.cpu) + ": " + std::strerror(errno));
    tid_.store(own_tid(), std::memory_order_release);
    const uint64_t start = plan_.start_ns ? plan_.start_ns : monotonic_ns();
    cursor_ = arrival_cursor_at_start(plan_.phases, 1, plan_.seed);
    cursor_.start = start;
    std::atomic<uint32_t> never = 0;
    while (monotonic_ns() < start && !stop_.load(std::memory_order_relaxed))
        wait_for_word(never, 0, std::min(start, monotonic_ns() + 50'000'000));
    last_ns_ = slice_began_ns_ = monotonic_ns();
    uint64_t window_end = start + plan_.warmup_ns;
    const uint64_t end = start + plan_.warmup_ns + plan_.duration_ns;
    bool warm = false;
    while (!stop_.load(std::memory_order_relaxed)) {
        const uint64_t now = look();
        w_->polls++;
        if (now >= window_end) {
            if (now >= end) break;
            if (warm) {
                turn_window(now, false);
            } else {
                w_->clear(now);
                w_->own_ns = cpu_ns();
                warm = true;
            }
            window_end = std::min(now + plan_.window_ns, end);
        }
        arrive(now);
        if (head_ == tail_)
            idle(now);
        else
            serve();
    }
    if (warm) turn_window(monotonic_ns(), true);
    ended_.store(true, std::memory_order_release);
}

}  // namespace wt
