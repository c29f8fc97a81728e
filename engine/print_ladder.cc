#include "print_ladder.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/refusal.h"
#include "core/run_on_cpu.h"
#include "host/ladder.h"
#include "report/lines.h"

namespace wt {

namespace {

constexpr size_t least_bytes = 4096, huge_page = 2 << 20;
constexpr int rungs_an_octave = 4;
constexpr size_t slices = 15, steps = 1 << 14;  // a slice: 20 us in the first cache, 5 ms in a far memory

// Anonymous memory, all of it touched. Its beginning lies on a huge page's boundary.
class room {
  public:
    room(size_t bytes, bool huge) : m_size(bytes + huge_page) {
        m_start =
            mmap(nullptr, m_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (m_start == MAP_FAILED)
            throw refusal("cannot allocate " + std::to_string(bytes >> 20) + " MiB: " + std::strerror(errno),
                          "use a smaller --most");
        madvise(m_start, m_size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);  // what came of it is read below
    }
    room(const room &) = delete;
    ~room() { munmap(m_start, m_size); }

    wt_ladder_line *lines() const {
        const auto start = reinterpret_cast<uintptr_t>(m_start);
        return reinterpret_cast<wt_ladder_line *>((start + huge_page - 1) & ~(huge_page - 1));
    }

  private:
    void *m_start;
    size_t m_size;
};

std::vector<size_t> sizes(size_t most) {
    std::vector<size_t> all;
    for (int i = 0;; i++) {
        const double bytes = least_bytes * std::exp2(static_cast<double>(i) / rungs_an_octave);
        if (bytes > static_cast<double>(most) * 1.001) return all;
        all.push_back(static_cast<size_t>(bytes) / WT_LADDER_LINE * WT_LADDER_LINE);
    }
}

// Bytes of this process that lie on transparent huge pages; -1 where the kernel does not say.
int64_t on_huge_pages() {
    std::ifstream file("/proc/self/smaps_rollup");
    for (std::string word; file >> word;) {
        int64_t kib;
        if (word == "AnonHugePages:" && file >> kib) return kib * 1024;
    }
    return -1;
}

// The walk must stay on one core: first-level caches are not shared.
int stay_here() {
    const int cpu = sched_getcpu();
    run_on_cpu(cpu);
    return cpu;
}

// Of one load: the median of several slices, so that an interrupt or another program affects one slice and
// not the result.
double step_ticks(wt_ladder_line *at) {
    std::array<uint64_t, slices> ticks;
    for (uint64_t &t : ticks) t = wt_ladder_walk(&at, steps);
    std::nth_element(ticks.begin(), ticks.begin() + slices / 2, ticks.end());
    return static_cast<double>(ticks[slices / 2]) / steps;
}

void measure_round(std::FILE *out, wt_ladder_line *lines, const std::vector<size_t> &all, unsigned round,
                   double ns_per_tick) {
    uint64_t state = 0x9E3779B97F4A7C15ULL + round;
    size_t linked = 0;
    for (const size_t bytes : all) {
        wt_ladder_grow(lines, linked, bytes / WT_LADDER_LINE, &state);
        linked = bytes / WT_LADDER_LINE;
        wt_ladder_line *at = lines;
        wt_ladder_walk(&at, slices * steps);  // into the caches, as far as they hold it
        print_line(
            out,
            {{"type", "rung"}, {"bytes", bytes}, {"round", round}, {"ns", step_ticks(at) * ns_per_tick}});
    }
}

}  // namespace

void print_ladder(std::FILE *out, const ladder_arguments &asked) {
    const double hz = measure_tsc_hz();
    const int cpu = stay_here();
    const room memory(asked.most_bytes, asked.huge_pages);
    print_line(out, {{"type", "ladder"},
                     {"version", 1},
                     {"pages", asked.huge_pages ? "huge" : "small"},
                     {"most_bytes", asked.most_bytes},
                     {"rounds", asked.rounds},
                     {"line_bytes", static_cast<int>(WT_LADDER_LINE)},
                     {"cpu", cpu},
                     {"tsc_hz", static_cast<uint64_t>(hz + 0.5)}});
    const std::vector<size_t> all = sizes(asked.most_bytes);
    for (unsigned round = 0; round < asked.rounds; round++)
        measure_round(out, memory.lines(), all, round, 1e9 / hz);
    const int64_t huge = on_huge_pages();
    print_line(out, {{"type", "end"}, {"huge_bytes", huge < 0 ? json(nullptr) : json(huge)}});
}

}  // namespace wt
