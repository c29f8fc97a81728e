// Every switch of one CPU, from the kernel's records (perf_event_open(2), PERF_RECORD_SWITCH_CPU_WIDE): no
// PMU is needed.
#pragma once

#include <cstdint>
#include <string>

struct perf_event_mmap_page;

namespace wt {

class switch_watch {
  public:
    // Opens it; where that is refused, `why()` says so and nothing is ever drained. Wants CAP_PERFMON or
    // perf_event_paranoid <= 0.
    explicit switch_watch(int cpu);
    ~switch_watch();
    switch_watch(const switch_watch &) = delete;
    switch_watch &operator=(const switch_watch &) = delete;

    bool open() const { return page_ != nullptr; }
    const std::string &why() const { return why_; }
    uint64_t take_lost();

    // Calls take(tid, came, at_ns) for each record since the last time, in order; tid 0 is idle.
    template <typename Take>
    void drain(Take take) {
        record r;
        while (next(r)) take(r.tid, r.came, r.at_ns);
    }

  private:
    struct record {
        int tid;
        bool came;  // to the CPU; else it left
        uint64_t at_ns;
    };
    bool next(record &r);
    void copy(uint64_t from, void *to, uint64_t size) const;

    int descriptor_ = -1;
    perf_event_mmap_page *page_ = nullptr;
    uint64_t size_ = 0, lost_ = 0;
    std::string why_;
};

}  // namespace wt
