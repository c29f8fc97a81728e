// windtunnel-slicer: shares one CPU. It reads a plan and then commands as JSON lines on stdin, and responds
// on stdout. It ends when stdin closes, and then no thread is raised any more. Affinities, nice values and
// slices are recorded and restored by the parent.
#include <cstdio>

#include "plan/json_reader.h"
#include "slicers/control.h"
#include "slicers/slicer.h"

using wt::json_object;
using wt::json_value;

namespace {

constexpr int tend_every_ms = 20;
constexpr uint64_t least_slice_ns = 10'000, most_slice_ns = 1'000'000'000;
constexpr int most_cpu = 8191;

wt::slicer_plan read_plan(const std::string &line) {
    const auto document = wt::parse_json(line);
    return wt::read_object(json_value(document, ""), [](json_object &o) {
        wt::slicer_plan plan;
        plan.how = static_cast<wt::mechanism>(o["mechanism"].word(wt::mechanism_names));
        plan.cpu = o["cpu"].whole<int>(0, most_cpu);
        plan.from_cpu = o["from_cpu"].whole<int>(0, most_cpu);
        plan.slice_ns = o["slice_ns"].whole<uint64_t>(least_slice_ns, most_slice_ns);
        plan.turn_cost_ns = o["turn_cost_ns"].whole<uint64_t>(0, most_slice_ns);
        return plan;
    });
}

wt::member read_member(const json_value &value) {
    return wt::read_object(value, [](json_object &o) {
        wt::member m;
        m.tid = o["tid"].whole<int>(1, INT_MAX);
        m.weight = o["weight"].whole<uint32_t>(1, 1u << 20);
        // nice + 20, because the reader's whole numbers have no sign
        m.nice_high = o["nice_high"].whole<int>(0, 39) - 20;
        m.nice_low = o["nice_low"].whole<int>(0, 39) - 20;
        m.started = o["started"].whole<uint64_t>(0, INT64_MAX);
        return m;
    });
}

nlohmann::ordered_json apply_command(wt::slicer &slicer, const std::string &line) {
    const auto document = wt::parse_json(line);
    return wt::read_object(json_value(document, ""), [&](json_object &o) -> nlohmann::ordered_json {
        constexpr const char *words[] = {"members", "slice", "read"};
        switch (o["do"].word(words)) {
            case 0: slicer.set_members(o["members"].list(read_member, 0, 4096)); break;
            case 1: slicer.set_slice(o["slice_ns"].whole<uint64_t>(least_slice_ns, most_slice_ns)); break;
            default: return slicer.read();
        }
        return {{"type", "done"}};
    });
}

void serve() {
    wt::open_many_files();
    wt::line_reader commands(STDIN_FILENO);
    std::optional<std::string> line;
    while (!(line = commands.next(-1)))
        if (commands.ended()) return;
    const wt::slicer_plan plan = read_plan(*line);
    const bool apart = wt::stay_off(plan.cpu);
    wt::slicer slicer(plan);
    wt::say(STDOUT_FILENO, {{"type", "hello"}, {"apart", apart}});
    while (!commands.ended()) {
        line = commands.next(tend_every_ms);
        slicer.tend();
        if (line && !wt::say(STDOUT_FILENO, apply_command(slicer, *line))) return;
    }
}

}  // namespace

int main() { return wt::in_words(serve); }
