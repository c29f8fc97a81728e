#include "run/telemetry.h"

#include <rte_telemetry.h>

#include <bit>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "core/counters.h"
#include "core/dpdk.h"
#include "core/refusal.h"

namespace wt {

namespace {

// DPDK responds with at most 16 KiB, and a dictionary has names of letters, digits, '_' and '/' alone.
constexpr size_t rows_a_reply = 30;

using shown = std::variant<uint64_t, std::string>;
struct row {
    std::string name;
    std::vector<std::pair<std::string, shown>> values;

    void add(const std::string &key, shown value) { values.emplace_back(key, std::move(value)); }
};

// What clients are shown. Never destroyed: DPDK's thread responds until the process ends.
struct board {
    std::mutex lock;
    row run;
    std::map<std::string, std::vector<row>> tables;
};
board &the_board() {
    static board &b = *new board;
    return b;
}

// A table of the window as a command shows it: which keys are counters (with their totals), and which are
// levels.
struct table {
    const char *name, *help;
    std::vector<const char *> counters, levels;
    const char *rate;  // counter that is shown per second too
};

// The counters of stages that are shown, behind those that follow from the bursts.
std::vector<const char *> shown_of(counter_line line, std::vector<const char *> names = {}) {
    for (const stage_counter &counter : stage_counter_list)
        if (counter.line == line && counter.telemetry == counter_telemetry::shown)
            names.push_back(counter.name);
    return names;
}

const std::vector<table> &tables() {
    static const std::vector<table> all = {
        {"stages",
         "Stages in the last window, with totals. Parameter: the beginning of names, as in client/nic",
         shown_of(counter_line::stage, {"objects", "calls", "empty_calls", "stalled_calls"}),
         {"worker"},
         "objects"},
        {"workloads",
         "Workloads as the client sees them, with latency from the intended send time",
         shown_of(counter_line::workload),
         {"unsent", "in_flight"},
         "responses"},
        {"ports",
         "Packets and bytes of the ports",
         {"rx_packets", "rx_bytes", "tx_packets", "tx_bytes"},
         {},
         "rx_packets"},
        {"workers",
         "Loops of the workers, and the time for which they were preempted",
         {"loops", "preempted_ns"},
         {"cpu"},
         "loops"},
        {"rings", "Entries in use at the end of the window", {}, {"size", "used"}, nullptr},
        {"pools", "Free mbufs at the end of the window", {}, {"size", "free"}, nullptr},
    };
    return all;
}

std::string speakable(std::string name) {
    for (char &c : name)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '/') c = '_';
    return name.substr(0, 63);
}

std::string name_of(const char *table, const json &of, const plan &p) {
    const std::string name = table;
    if (name == "stages")
        return of["endpoint"].get<std::string>() + "/" + of["stage"].get<std::string>() + "/" +
               std::to_string(of["index"].get<int>());
    if (name == "workloads") return speakable(p.workloads[of["workload"].get<size_t>()].name);
    if (name == "workers") return "worker_" + std::to_string(of["worker"].get<int>());
    return speakable(of[name == "rings" ? "name" : "endpoint"].get<std::string>());
}

std::string one_digit(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

void add_stage(row &r, const json &of, const tsc_clock &clock, telemetry_totals &totals) {
    uint64_t drops = 0;
    for (const auto &[reason, count] : of["drops"].items()) drops += count.get<uint64_t>();
    r.add("drops", drops);
    r.add("total_drops", totals["stages/" + r.name + "/drops"] += drops);
    // where cycles were taken
    const auto timed = of["timed_objects"].get<uint64_t>(), stall = of["stall_cycles"].get<uint64_t>();
    if (timed == 0) return;
    const double ns = clock.ns_per_tick / static_cast<double>(timed);
    r.add("work_ns", one_digit(static_cast<double>(of["busy_cycles"].get<uint64_t>() - stall) * ns));
    r.add("stall_ns", one_digit(static_cast<double>(stall) * ns));
}

// As windtunnel.runs.histogram has it: the top of the bucket, and nothing where fewer than 1 / (1 - q)
// responses came.
void add_percentile(row &r, const json &times, const std::string &key, uint64_t permille) {
    const auto total = times["total"].get<uint64_t>();
    if (total * (1000 - permille) < 1000) return;
    const uint64_t wanted = std::max<uint64_t>(1, (total * permille + 500) / 1000);
    const auto bits = times["bits"].get<unsigned>();
    uint64_t seen = 0;
    for (const json &bucket : times["counts"]) {
        seen += bucket[1].get<uint64_t>();
        if (seen < wanted) continue;
        const auto lowest = bucket[0].get<uint64_t>();
        const unsigned width = static_cast<unsigned>(std::bit_width(lowest));
        const uint64_t top = lowest + (width > bits ? (uint64_t{1} << (width - bits)) - 1 : 0);
        return r.add(key, std::min(top, times["max"].get<uint64_t>()));
    }
}

void add_times(row &r, const json &times, const std::string &of) {
    for (const auto &[key, permille] :
         {std::pair{"p50_ns", 500}, {"p90_ns", 900}, {"p99_ns", 990}, {"p999_ns", 999}})
        add_percentile(r, times, of + key, static_cast<uint64_t>(permille));
    if (!times["max"].is_null()) r.add(of + "max_ns", times["max"].get<uint64_t>());
}

row row_of(const table &t, const json &of, const plan &p, const tsc_clock &clock, uint64_t window_ns,
           telemetry_totals &totals) {
    row r{name_of(t.name, of, p), {}};
    for (const char *key : t.levels) r.add(key, of[key].get<uint64_t>());
    for (const char *key : t.counters) {
        if (of[key].is_null()) continue;
        const auto count = of[key].get<uint64_t>();
        r.add(key, count);
        if (t.rate && std::strcmp(key, t.rate) == 0 && window_ns > 0)
            r.add(std::string(key) + "_per_s",
                  static_cast<uint64_t>(static_cast<double>(count) * 1e9 / static_cast<double>(window_ns)));
        r.add(std::string("total_") + key, totals[std::string(t.name) + "/" + r.name + "/" + key] += count);
    }
    if (of.contains("drops")) add_stage(r, of, clock, totals);
    if (of.contains("latency")) add_times(r, of["latency"], "");
    if (of.contains("pacing") && !of["pacing"].is_null()) add_times(r, of["pacing"], "pacing_");
    return r;
}

row run_row(const plan &p, const tsc_clock &clock, const json &window) {
    row r{"run", {}};
    r.add("title", p.title.substr(0, RTE_TEL_MAX_STRING_LEN - 1));
    r.add("plan_hash", p.hash);
    r.add("phase", window["phase"].get<std::string>());
    r.add("window", window["index"].get<uint64_t>());
    r.add("window_start_ns", window["start_ns"].get<uint64_t>());
    r.add("window_end_ns", window["end_ns"].get<uint64_t>());
    r.add("warmup_ns", p.phases.warmup_ns);
    r.add("duration_ns", p.phases.duration_ns);
    r.add("tsc_hz", static_cast<uint64_t>(1e9 / clock.ns_per_tick + 0.5));
    return r;
}

void fill(rte_tel_data *to, const row &from) {
    rte_tel_data_start_dict(to);
    for (const auto &[key, value] : from.values) {
        if (const auto *number = std::get_if<uint64_t>(&value))
            telemetry_add_uint(to, key.c_str(), *number);
        else
            rte_tel_data_add_dict_string(to, key.c_str(), std::get<std::string>(value).c_str());
    }
}

int show_run(const char *, const char *, rte_tel_data *reply) {
    board &b = the_board();
    const std::lock_guard guard(b.lock);
    return fill(reply, b.run), 0;
}

int show_table(const char *command, const char *parameter, rte_tel_data *reply) {
    board &b = the_board();
    const std::lock_guard guard(b.lock);
    const std::string wanted = parameter ? parameter : "";
    rte_tel_data_start_dict(reply);
    uint64_t shown_rows = 0, left_out = 0;
    for (const row &r : b.tables[command + std::strlen("/windtunnel/")]) {
        if (!r.name.starts_with(wanted)) continue;
        rte_tel_data *inner = shown_rows < rows_a_reply ? rte_tel_data_alloc() : nullptr;
        if (!inner) {
            left_out++;
            continue;
        }
        fill(inner, r);
        rte_tel_data_add_dict_container(reply, r.name.c_str(), inner, 0);
        shown_rows++;
    }
    if (left_out > 0) telemetry_add_uint(reply, "left_out", left_out);
    return 0;
}

}  // namespace

void telemetry_open() {
    int failed =
        rte_telemetry_register_cmd("/windtunnel/run", show_run, "What runs, and the last window's times");
    for (const table &t : tables())
        failed |=
            rte_telemetry_register_cmd((std::string("/windtunnel/") + t.name).c_str(), show_table, t.help);
    if (failed) throw refusal("DPDK's telemetry rejects the commands");
}

void telemetry_publish(telemetry_totals &totals, const plan &p, const tsc_clock &clock, const json &window) {
    const uint64_t length = window["end_ns"].get<uint64_t>() - window["start_ns"].get<uint64_t>();
    std::map<std::string, std::vector<row>> all;
    for (const table &t : tables())
        for (const json &of : window[t.name]) all[t.name].push_back(row_of(t, of, p, clock, length, totals));
    row run = run_row(p, clock, window);
    board &b = the_board();
    const std::lock_guard guard(b.lock);
    b.run = std::move(run);
    b.tables.swap(all);
}

}  // namespace wt
