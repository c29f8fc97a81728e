#include "handlers/opened.h"

#include <utility>

#include "core/refusal.h"
#include "handlers/options.h"

namespace wt {

opened_handler::opened_handler(handler_table table, wt_open about,
                               const std::map<std::string, std::string> &options)
    : table_(std::move(table)) {
    const std::vector<wt_value> values = resolve_options(*table_, options);
    char words[512] = "";
    about.abi = WT_HANDLER_ABI;
    about.size = sizeof about;
    about.options = values.data();
    about.option_count = static_cast<uint32_t>(values.size());
    about.steps = &steps_->now;
    about.error = words;
    about.error_size = sizeof words;
    const int refused = table_->open(&about, &state_);
    words[sizeof words - 1] = '\0';  // a plug-in that filled the room to its end
    if (refused)
        throw refusal(std::string(table_->name) + ": " +
                      (*words ? words : "open returned " + std::to_string(refused) + " without a reason"));
    try {
        take_steps();
        take_figures();
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

void opened_handler::take_figures() {
    const wt_figure *const list = table_->figures ? table_->figures(state_) : nullptr;
    for (const wt_figure *figure = list; figure && figure->name; figure++) {
        const std::string its = std::string(table_->name) + ": figure " + figure->name;
        if (figures_.size() == WT_MAX_FIGURES)
            throw refusal(std::string(table_->name) + " has more figures than " + std::to_string(WT_MAX_FIGURES));
        if (figure->kind < WT_COUNT_OF || figure->kind > WT_WRONG)
            throw refusal(its + " has no kind that there is: " + std::to_string(figure->kind));
        if (!figure->of || !figure->unit) throw refusal(its + " says not what it is of, or not its unit");
        figures_.push_back(*figure);
    }
}

opened_handler::~opened_handler() {
    if (table_ && table_->close) table_->close(state_);
}

opened_handler::opened_handler(opened_handler &&other) noexcept
    : table_(std::move(other.table_)), state_(std::exchange(other.state_, nullptr)),
      steps_(std::move(other.steps_)),
      figures_(std::move(other.figures_)) {}

}  // namespace wt
