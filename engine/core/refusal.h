// The control path's one exception: an error that the user can correct, with its remedy.
#pragma once

#include <stdexcept>
#include <string>

namespace wt {

class refusal : public std::runtime_error {
  public:
    explicit refusal(const std::string &message, std::string remedy = {})
        : std::runtime_error(message), remedy_(std::move(remedy)) {}
    const std::string &remedy() const { return remedy_; }

  private:
    std::string remedy_;
};

}  // namespace wt
