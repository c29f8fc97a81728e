// The control path's one exception: an error that the user can correct, with its remedy.
#pragma once

#include <cstdint>
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

// What a handler refused at its open, or was refused for.
class handler_refusal : public refusal {
  public:
    handler_refusal(const refusal &why, uint32_t workload, const char *kind)
        : refusal(why), workload_(workload), kind_(kind) {}
    uint32_t workload() const { return workload_; }
    const char *kind() const { return kind_; }  // "message" or "packet"

  private:
    uint32_t workload_;
    const char *kind_;
};

}  // namespace wt
