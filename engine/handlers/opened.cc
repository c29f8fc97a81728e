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
    about.error = words;
    about.error_size = sizeof words;
    const int refused = table_->open(&about, &state_);
    words[sizeof words - 1] = '\0';  // a plug-in that filled the room to its end
    if (refused)
        throw refusal(std::string(table_->name) + ": " +
                      (*words ? words : "open returned " + std::to_string(refused) + " without a reason"));
}

opened_handler::~opened_handler() {
    if (table_ && table_->close) table_->close(state_);
}

opened_handler::opened_handler(opened_handler &&other) noexcept
    : table_(std::move(other.table_)), state_(std::exchange(other.state_, nullptr)) {}

}  // namespace wt
