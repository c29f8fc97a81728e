#include "handlers/loading/opened.h"

#include <utility>

#include "core/refusal.h"
#include "handlers/loading/inside.h"
#include "handlers/loading/open_error.h"
#include "handlers/loading/options.h"

namespace wt {

opened_handler::opened_handler(handler_table table, const wt_open &asked,
                               const std::map<std::string, std::string> &options,
                               const workload_plan *workload)
    : table_(std::move(table)) {
    inside_open about{asked, workload};
    const std::vector<wt_value> values = resolve_options(table_->name, options_of(table_->options), options);
    open_error error;
    about.abi = WT_HANDLER_ABI;
    about.size = sizeof(wt_open);
    about.options = values.data();
    about.option_count = static_cast<uint32_t>(values.size());
    about.steps = &steps_->now;
    about.error = error.message;
    about.error_size = sizeof error.message;
    error.check(table_->name, table_->open(&about, &state_));
    try {
        take_steps();
        read_counter_list();
    } catch (...) {
        if (table_->close) table_->close(state_);  // no destructor runs after a constructor that throws
        throw;
    }
}

void opened_handler::take_steps() {
    const wt_step_name *const list = table_->steps ? table_->steps(state_) : nullptr;
    for (const wt_step_name *step = list; step && step->name; step++) {
        if (steps_->names.size() == WT_MAX_STEPS)
            throw refusal(std::string(table_->name) + " has more steps than " + std::to_string(WT_MAX_STEPS));
        steps_->names.push_back({step->name, (step->flags & WT_STEP_TRAFFIC) != 0});
    }
}

void opened_handler::read_counter_list() {
    const wt_counter *const list = table_->counters ? table_->counters(state_) : nullptr;
    for (const wt_counter *counter = list; counter && counter->name; counter++) {
        const std::string its = std::string(table_->name) + ": counter " + counter->name;
        if (counters_.size() == WT_MAX_COUNTERS)
            throw refusal(std::string(table_->name) + " has more counters than " +
                          std::to_string(WT_MAX_COUNTERS));
        if (counter->kind < WT_COUNTER_TOTAL || counter->kind > WT_COUNTER_ERROR)
            throw refusal(its + " has an unknown kind: " + std::to_string(counter->kind));
        if (!counter->of || !counter->unit) throw refusal(its + " has no `of` or no `unit`");
        counters_.push_back(*counter);
    }
}

opened_handler::~opened_handler() {
    if (table_ && table_->close) table_->close(state_);
}

opened_handler::opened_handler(opened_handler &&other) noexcept
    : table_(std::move(other.table_)),
      state_(std::exchange(other.state_, nullptr)),
      steps_(std::move(other.steps_)),
      counters_(std::move(other.counters_)) {}

}  // namespace wt
