#include "report/lines.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace wt {

// Text from drivers, plug-ins or the user's files may not be UTF-8; a line must be.
static std::string text_of(const json &line) {
    return line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

void print_line(std::FILE *out, const json &line) {
    std::fputs(text_of(line).c_str(), out);
    std::fflush(out);
}

bool line_writer::write(const json &line) {
    const std::string text = text_of(line);
    size_t written = 0;
    while (written < text.size()) {
        const ssize_t n = ::write(descriptor_, text.data() + written, text.size() - written);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        written += static_cast<size_t>(n);
    }
    return true;
}

bool line_writer::phase(const std::string &name) {
    return write({{"type", "phase"}, {"name", name}, {"at_ns", now_ns()}});
}

bool line_writer::error(const refusal &why, const json &handler) {
    return write({{"type", "error"},
                  {"message", why.what()},
                  {"remedy", why.remedy().empty() ? json() : json(why.remedy())},
                  {"handler", handler}});
}

static json drops_json(const stage_stats &s) {
    json drops = json::object();
    for (uint32_t i = 0; i < drop_reasons; i++)
        if (s.drops[i]) drops[drop_names[i]] = s.drops[i];
    return drops;
}

json stage_json(const stage &s, const stage_stats &stats, enum side side, accounting level) {
    uint64_t calls = 0, objects = 0;
    json burst = json::object();
    for (uint32_t n = 0; n <= max_batch; n++) {
        if (stats.burst[n] == 0) continue;
        calls += stats.burst[n];
        objects += n * stats.burst[n];
        burst[std::to_string(n)] = stats.burst[n];
    }
    const bool histograms = level == accounting::histograms;
    json line = {{"endpoint", side_names[static_cast<int>(side)]},
                 {"stage", stage_names[static_cast<int>(s.place.stage)]},
                 {"index", s.place.index},
                 {"worker", s.worker},
                 {"calls", calls},
                 {"empty_calls", stats.burst[0] - stats.stalled_calls() - stats.unmoved_calls},
                 {"stalled_calls", stats.stalled_calls()},
                 {"objects", objects},
                 {"burst", burst},
                 {"drops", drops_json(stats)},
                 {"completion", histograms ? histogram_json(*stats.completion) : json()},
                 {"stall", histograms ? histogram_json(*stats.stall) : json()}};
    add_counters(line, stats, counter_line::stage);
    return line;
}

}  // namespace wt
