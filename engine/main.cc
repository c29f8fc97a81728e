// windtunnel-engine: runs one plan, or prints what this engine has.
#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_version.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "arguments.h"
#include "core/refusal.h"
#include "handlers/loading/plugin.h"
#include "handlers/loading/registry.h"
#include "print_ladder.h"
#include "report/build_id.h"
#include "run/eal.h"
#include "run/execution.h"
#include "run/guard.h"
#include "run/memory_nodes.h"
#include "run/run.h"
#include "run/telemetry.h"
#include "run/try_handlers.h"
#include "wires/planned.h"
#include "wires/registry.h"

namespace wt {

static std::string read_file(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw refusal(path + " cannot be read");
    return {std::istreambuf_iterator<char>(file), {}};
}

static json build_or_null() {
    const std::string id = build_id();
    return id.empty() ? json() : json(id);
}

static json hello(const plan &p, const tsc_clock &clock) {
    return {{"type", "hello"},
            {"version", 5},
            {"engine", WT_VERSION},
            {"build", build_or_null()},
            {"dpdk", rte_version()},
            {"pid", getpid()},
            {"plan_hash", p.hash},
            {"tsc_hz", static_cast<uint64_t>(1e9 / clock.ns_per_tick + 0.5)},
            {"tsc_source", tsc_source},
            {"memory", p.eal.memory == memory_mode::hugepages ? "hugepages" : "no-huge"},
            {"numa_sockets", rte_socket_count()}};
}

// The supervisor removes EAL's files. Where the supervisor is gone, the engine removes them.
static void remove_runtime_files() {
    std::error_code ignored;
    std::filesystem::remove_all(rte_eal_get_runtime_dir(), ignored);
}

static void run_plan(const plan &p, line_writer &lines, const arguments &a) {
    start_guard(a.control_descriptor);
    lines.phase("starting EAL");
    const running_eal eal(p.eal.args);
    const tsc_clock clock = clock_start(measure_tsc_hz());
    lines.set_clock(clock);
    lines.write(hello(p, clock));
    telemetry_open();

    run_state f(p, lines, clock);
    lines.phase("opening mbuf pools");
    open_pools(f);
    if (a.handlers_only) return try_handlers(f);
    lines.phase("opening ports");
    f.ports = open_ports(p, f.pools);
    if (p.record)
        f.record =
            recorder_open(*p.record, p.endpoints.size() == 1, clock.ns_per_tick, f.pools[0]->socket_id);
    if (p.trace)
        f.trace = std::make_unique<tracer>(*p.trace, p.workers, lines.start_tsc(), clock.ns_per_tick);
    open_endpoints(f);
    open_workers(f);
    note_memory_nodes(f);
    const run_end end = execute_run(f, a.control_descriptor, a.turns);
    write_result(f, end);
    if (end.reason == end_reason::parent_lost) remove_runtime_files();
}

static int print_handlers_of(const std::string &plugin) {
    if (plugin.empty()) return print_handlers(stdout, all_handlers()), 0;
    start_guard(-1);
    const handler_table table = load_plugin(plugin);
    const wt_handler *one = table.get();
    return print_handlers(stdout, {&one, 1}), 0;
}

// Built-in descriptors are checked before they are used.
static void check_descriptors() {
    for (const wt_handler *table : all_handlers())
        check_table(std::string("handler ") + (table->name ? table->name : "without a name"), *table);
    check_wires();
}

static int print_wires_of_engine() { return print_wires(stdout, all_wires()), 0; }

static int print_version() {
    const std::string id = build_id();
    std::printf("windtunnel-engine %s, %s, build %.12s\n", WT_VERSION, rte_version(),
                id.empty() ? "unknown" : id.c_str());
    return 0;
}

static int run_command_of_part(const arguments &a) {
    if (!a.command->print(a.words)) throw refusal(usage());
    return 0;
}

static plan read_checked_plan(const std::string &file) {
    plan p = read_plan(read_file(file));
    check_planned_wires(p);
    return p;
}

// Prints a line for each file: a valid plan, or the reason why not. Starts no EAL.
static int check_plans(const std::vector<std::string> &files) {
    int worst = 0;
    for (const std::string &file : files) {
        try {
            read_checked_plan(file);
            std::printf("%s: valid plan\n", file.c_str());
        } catch (const refusal &r) {
            std::printf("%s: %s\n", file.c_str(), r.what());
            worst = 2;
        }
    }
    return worst;
}

static int run(const arguments &a) {
    if (a.help) return std::printf("%s\n", usage().c_str()), 0;
    if (a.version) return print_version();
    check_descriptors();
    if (a.command) return run_command_of_part(a);
    if (!a.plans.empty()) return check_plans(a.plans);
    if (a.handlers) return print_handlers_of(a.plugin);
    if (a.wires) return print_wires_of_engine();
    if (a.asks_ladder) return print_ladder(stdout, a.ladder), 0;
    line_writer lines(a.out_descriptor);
    try {
        run_plan(read_checked_plan(a.plan), lines, a);
        return 0;
    } catch (const handler_refusal &r) {
        lines.error(r, {{"workload", r.workload()}, {"kind", r.kind()}});
        return 2;
    } catch (const refusal &r) {
        lines.error(r);
        return 2;
    }
}

}  // namespace wt

int main(int argc, char **argv) {
    std::signal(SIGPIPE, SIG_IGN);  // a closed reader is an error of write(), not a reason to end
    std::signal(SIGXFSZ, SIG_IGN);  // likewise a file that reached its size limit
    std::signal(SIGHUP, SIG_IGN);   // of a parent that ends while we are stopped: its control pipe tells us
    // A library that a wire brings (PSM) takes these when it is loaded and exits with 1: a crash has its
    // name.
    for (const int fatal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) std::signal(fatal, SIG_DFL);
    try {
        return wt::run(wt::read_arguments(argc, argv));
    } catch (const wt::refusal &r) {
        std::fprintf(stderr, "windtunnel-engine: %s\n", r.what());
        if (!r.remedy().empty()) std::fprintf(stderr, "remedy: %s\n", r.remedy().c_str());
        return 2;
    } catch (const std::exception &fault) {  // of ours: it ends as a crash does, and says what it was
        std::fprintf(stderr, "windtunnel-engine: %s\n", fault.what());
        std::abort();
    }
}
