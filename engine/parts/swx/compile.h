// Runs a compiler as a child process, without a shell.
#pragma once

#include <string>
#include <vector>

namespace wt {

struct command_end {
    int code;            // exit code; -1 where a signal ended it
    std::string output;  // what it wrote, both streams, at most 64 KiB
};

// Runs `words[0]`, looked for in PATH, in `directory`, which its temporary files go to, too. Throws refusal
// where there is no such program.
command_end run_command(const std::vector<std::string> &words, const std::string &directory);

}  // namespace wt
