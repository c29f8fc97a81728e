// One shared core: its members, the thread that switches them, and what was measured.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "slicers/balance.h"
#include "slicers/mechanisms.h"
#include "slicers/slices.h"
#include "slicers/switches.h"
#include "slicers/task.h"

namespace wt {

enum class mechanism { watch, kick, rotate };
constexpr const char *mechanism_names[] = {"watch", "kick", "rotate"};

struct slicer_plan {
    mechanism how;
    int cpu;
    int from_cpu;  // where time is kept; the same, unless another core switches this one
    uint64_t slice_ns;
    uint64_t turn_cost_ns;  // of a rotor
};

class slicer {
  public:
    // Throws refusal.
    explicit slicer(const slicer_plan &plan);
    ~slicer();
    slicer(const slicer &) = delete;
    slicer &operator=(const slicer &) = delete;

    void set_slice(uint64_t ns);
    // Returns once the sharing thread uses them and has let go of those that left.
    void set_members(roster members);
    // To be called every few milliseconds: takes what the kernel recorded, and balances. Throws what the
    // sharing thread threw.
    void tend();
    // What was seen since the last call.
    nlohmann::ordered_json read();

  private:
    struct seen_member {
        task_times times;
        ran at_begin, at_balance, latest;
        bool told = false;
    };
    void take_records();
    void balance_now(uint64_t now);
    void give_nice(size_t which);
    nlohmann::ordered_json members_json();
    void work();
    std::thread start(void (slicer::*loop)());
    void keep_time();
    bool kicks_from_afar() const;
    void close();

    slicer_plan plan_;
    shared_core core_;
    std::unique_ptr<const roster> members_ = std::make_unique<roster>();
    std::vector<seen_member> seen_;
    switch_watch watch_;
    slice_keeper keeper_;
    balance balance_;
    slice_histogram late_;
    uint64_t began_ns_, balanced_ns_, kicks_at_begin_ = 0;
    std::exception_ptr failure_;
    std::atomic<bool> failed_ = false;
    std::atomic_flag failing_;
    std::thread worker_, timer_;
};

}  // namespace wt
