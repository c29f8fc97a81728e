// A handler that is open: its state lives as long as this does.
#pragma once

#include <map>
#include <string>

#include "handlers/plugin.h"

namespace wt {

class opened_handler {
  public:
    // Opens for one application or dispatcher. Of `about` these are filled in here: abi, size, options,
    // error. Throws refusal with the handler's own words, or where an option cannot be.
    opened_handler(handler_table table, wt_open about, const std::map<std::string, std::string> &options);
    ~opened_handler();
    opened_handler(opened_handler &&other) noexcept;
    opened_handler(const opened_handler &) = delete;
    opened_handler &operator=(const opened_handler &) = delete;

    const wt_handler &table() const { return *table_; }
    void *state() const { return state_; }

  private:
    handler_table table_;  // empty once moved from
    void *state_ = nullptr;
};

}  // namespace wt
