// Lines of JSON from one descriptor, without ever waiting longer than asked.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace wt {

class line_reader {
  public:
    explicit line_reader(int descriptor) : descriptor_(descriptor) {}
    // A complete line, or nothing after this number of milliseconds or at the end. Throws refusal for a line
    // longer than 1 MiB.
    std::optional<std::string> next(int wait_ms);
    bool ended() const { return ended_; }

  private:
    int descriptor_;
    bool ended_ = false;
    std::string pending_;
};

// Writes one complete line. False once the reader is gone.
bool say(int descriptor, const nlohmann::ordered_json &line);

// Runs `work` of a program that prints JSON lines on stdout. Returns the exit code: 2 after a
// refusal, which is printed as a line.
int in_words(void (*work)());

}  // namespace wt
