#include "slicers/control.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "core/refusal.h"
#include "slicers/task.h"

namespace wt {

constexpr size_t longest_line = 1 << 20;

std::optional<std::string> line_reader::next(int wait_ms) {
    const auto take = [this]() -> std::optional<std::string> {
        const size_t end = pending_.find('\n');
        if (end == std::string::npos) return {};
        std::string line = pending_.substr(0, end);
        pending_.erase(0, end + 1);
        return line;
    };
    if (auto line = take()) return line;
    if (ended_) return {};
    pollfd ready = {descriptor_, POLLIN, 0};
    if (poll(&ready, 1, wait_ms) <= 0) return {};
    char chunk[16384];
    const ssize_t size = ::read(descriptor_, chunk, sizeof chunk);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return {};
    if (size <= 0) {
        ended_ = true;
        return {};
    }
    pending_.append(chunk, static_cast<size_t>(size));
    if (pending_.size() > longest_line) throw refusal("a line is longer than 1 MiB");
    return take();
}

bool say(int descriptor, const nlohmann::ordered_json &line) {
    using json = nlohmann::ordered_json;
    const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    for (size_t written = 0; written < text.size();) {
        const ssize_t size = ::write(descriptor, text.data() + written, text.size() - written);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return false;
        written += static_cast<size_t>(size);
    }
    return true;
}

int in_words(void (*work)()) {
    std::signal(SIGPIPE, SIG_IGN);
    nlohmann::ordered_json line = {{"type", "error"}};
    try {
        work();
        return 0;
    } catch (const thread_refusal &error) {
        line.update({{"message", error.what()}, {"remedy", error.remedy()}, {"tid", error.tid()}});
    } catch (const refusal &error) {
        line.update({{"message", error.what()}, {"remedy", error.remedy()}});
    }
    say(STDOUT_FILENO, line);
    return 2;
}

}  // namespace wt
