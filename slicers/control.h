// Lines of JSON from one descriptor, without ever waiting longer than asked.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace wt {

class line_reader {
  public:
    explicit line_reader(int descriptor) : descriptor_(descriptor) {}
    // A whole line, or nothing after so many milliseconds or at the end. Throws refusal for a line longer
    // than 1 MiB.
    std::optional<std::string> next(int wait_ms);
    bool ended() const { return ended_; }

  private:
    int descriptor_;
    bool ended_ = false;
    std::string pending_;
};

// Writes one line whole. False once nobody reads any more.
bool say(int descriptor, const nlohmann::ordered_json &line);

// Does the work of a program that speaks JSON lines on stdout. Returns what main is to return: 2 after a
// refusal, said in a line.
int in_words(void (*work)());

}  // namespace wt
