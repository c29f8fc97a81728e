#include "parts/swx/compile.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "core/refusal.h"

extern char **environ;

namespace wt {

namespace {

constexpr size_t most_output = 64 << 10;

// Everything from `from` until it closes; what is too much is read all the same, or the writer would wait for
// ever.
std::string read_all(int from) {
    std::string all;
    std::array<char, 4096> piece;
    for (ssize_t n; (n = read(from, piece.data(), piece.size())) > 0 || (n < 0 && errno == EINTR);)
        if (n > 0 && all.size() < most_output) all.append(piece.data(), static_cast<size_t>(n));
    return all;
}

int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Whose TMPDIR this process has could put other code in the place of what the compiler leaves there.
std::vector<std::string> environment_with(const std::string &temporary) {
    std::vector<std::string> all = {"TMPDIR=" + temporary};
    for (char **each = environ; *each != nullptr; each++)
        if (!std::string_view(*each).starts_with("TMPDIR=")) all.emplace_back(*each);
    return all;
}

std::vector<char *> pointers_to(const std::vector<std::string> &words) {
    std::vector<char *> all;
    for (const std::string &word : words) all.push_back(const_cast<char *>(word.c_str()));
    all.push_back(nullptr);
    return all;
}

}  // namespace

command_end run_command(const std::vector<std::string> &words, const std::string &directory) {
    const std::vector<char *> argv = pointers_to(words);
    const std::vector<std::string> environment = environment_with(directory);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        throw refusal(std::string("cannot create a pipe for ") + words[0] + ": " + strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
    pid_t child = 0;
    const int failed = posix_spawnp(&child, words[0].c_str(), &actions, nullptr, argv.data(),
                                    pointers_to(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed != 0) {
        close(ends[0]);
        throw refusal("the compiler " + words[0] + " cannot be started: " + strerror(failed),
                      "the handler swx compiles its spec when it is opened: install gcc, or name another "
                      "with the option compiler");
    }
    std::string output = read_all(ends[0]);
    close(ends[0]);
    return {wait_for(child), std::move(output)};
}

}  // namespace wt
