// A handler that is open: its state lives as long as this does.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/steps.h"
#include "handlers/loading/plugin.h"

namespace wt {

struct workload_plan;

class opened_handler {
  public:
    // Opens for one application or dispatcher. Of `about` these are filled in here: abi, size, options,
    // error, steps. Throws refusal with the handler's own words, or where an option, its steps or its
    // counters cannot be.
    opened_handler(handler_table table, const wt_open &about,
                   const std::map<std::string, std::string> &options,
                   const workload_plan *workload = nullptr);
    ~opened_handler();
    opened_handler(opened_handler &&other) noexcept;
    opened_handler(const opened_handler &) = delete;
    opened_handler &operator=(const opened_handler &) = delete;

    const wt_handler &table() const { return *table_; }
    void *state() const { return state_; }
    handler_steps &steps() { return *steps_; }
    const std::vector<wt_counter> &counters() const { return counters_; }  // the texts are the handler's

  private:
    handler_table table_;  // empty once moved from
    void *state_ = nullptr;
    // where it is: the handler points there
    std::unique_ptr<handler_steps> steps_ = std::make_unique<handler_steps>();
    std::vector<wt_counter> counters_;

    void take_steps();
    void read_counter_list();
};

}  // namespace wt
