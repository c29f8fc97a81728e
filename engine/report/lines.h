// JSON lines out: one object a line, on a descriptor of their own, because drivers and plug-ins print to
// stdout.
//
// The mirror of src/windtunnel/engine/lines.py, windows.py and ledgers.py, which say what each key means.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "core/clock.h"
#include "core/histogram.h"
#include "core/refusal.h"
#include "core/stage.h"
#include "report/histogram_json.h"

namespace wt {

using json = nlohmann::ordered_json;

class line_writer {
  public:
    explicit line_writer(int descriptor) : descriptor_(descriptor), start_(now()) {}

    // Nanoseconds since the engine's start; before the clock is known, by DPDK-free estimate of 0.
    void set_clock(const tsc_clock &clock) { clock_ = &clock; }
    uint64_t at_ns(uint64_t tsc) const { return clock_ && tsc > start_ ? clock_->ns(tsc - start_) : 0; }
    uint64_t start_tsc() const { return start_; }
    uint64_t now_ns() const { return at_ns(now()); }

    // Writes one complete line. Returns false once the reader is gone.
    bool write(const json &line);
    // Announces what is entered next, so that a crash there has a name.
    bool phase(const std::string &name);
    // `handler`: whose, in a refusal of a handler; null: nobody's.
    bool error(const refusal &why, const json &handler = nullptr);

  private:
    int descriptor_;
    uint64_t start_;
    const tsc_clock *clock_ = nullptr;
};

// One object on a stream, for who prints and does not run.
void print_line(std::FILE *out, const json &line);

json stage_json(const stage &s, const stage_stats &stats, enum side side, accounting level);
// One object a step of the stage's handler; none where it names none.
void add_steps(json &list, const stage &s, const stage_stats &stats, enum side side);

}  // namespace wt
