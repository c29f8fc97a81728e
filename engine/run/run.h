// A run: all that one plan opens, and its steps from the first line to the result.
#pragma once

#include <rte_mempool.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/pause_log.h"
#include "core/sizes.h"
#include "core/worker.h"
#include "handlers/loading/opened.h"
#include "host/cpu_time.h"
#include "plan/plan.h"
#include "report/lines.h"
#include "run/delay.h"
#include "run/handler_counters.h"
#include "run/nodes.h"
#include "run/peer_session.h"
#include "run/telemetry.h"
#include "run/tracer.h"
#include "stages/application.h"
#include "stages/dispatcher.h"
#include "wires/ports.h"

namespace wt {

struct endpoint {
    const endpoint_plan *plan;
    rte_mempool *pool;
    const struct port *port;
    std::vector<std::unique_ptr<application>> applications;
    std::vector<std::unique_ptr<dispatcher>> dispatchers;
    peer_resolver resolver;
    bool link_is_down = false;  // as main saw it last, in a run that goes on without it
    uint64_t link_down_ns = 0;  // of this window
};

struct run_state {
    const struct plan &plan;
    line_writer &lines;
    const tsc_clock &clock;

    run_signals signals;
    node_topology nodes = nodes_of_host();
    std::vector<std::string> notes;  // of what was opened, beside those of the ports
    std::vector<rte_mempool *> pools;
    std::vector<port> ports;
    std::deque<opened_handler> handlers;
    std::deque<handler_counters> counters;
    std::deque<size_table> size_tables;
    std::deque<emulated_line> lines_ahead;
    std::vector<std::unique_ptr<link>> links;
    std::deque<endpoint> endpoints;
    std::deque<delay> delays;
    std::deque<worker> workers;
    std::unique_ptr<struct handshake> handshake;  // null where the other side is not another host's
    recorder *record = nullptr;
    std::unique_ptr<tracer> trace;
    telemetry_totals shown;

    std::vector<std::vector<stage_counters>>
        totals;                       // [worker][stage], since the start: the ledgers are closed on these
    std::vector<sched_times> sched;   // [worker]: at the last window
    std::vector<kernel_work> kernel;  // likewise
    std::vector<uint64_t> steal;      // [worker], likewise, ns
    std::vector<pause_log> pauses;    // [worker]: of this window
    clock_check clock_at_start;
    uint32_t variant = 0;  // of the plan's variants, where it has some
    uint32_t windows = 0;
    uint64_t window_start = 0;  // TSC

    run_state(const struct plan &p, line_writer &l, const tsc_clock &c)
        : plan(p), lines(l), clock(c), clock_at_start(check_clock()) {}
    ~run_state();
};

// Set-up, in this order; each throws refusal.
void open_pools(run_state &f);
void open_endpoints(run_state &f);  // ports must be open
void open_workers(run_state &f);

// The client's peer is known from here on: writes the headers of every flow.
void set_peer(endpoint &e, const mac_address &peer);

struct run_end {
    end_reason reason;
    uint64_t measured_ns;
    const char *part_reason = nullptr;  // with end_reason::by_part
};

// Reads, writes and clears the window that all workers have left (or, at the end, the one that they stopped
// in).
// `probe`: of the host, at the window's end; null: none was asked for.
void write_window(run_state &f, const char *phase, uint32_t epoch, uint64_t end_tsc,
                  const probe_reading *probe);

// After the workers have stopped: gives back every mbuf that is still held, closes the ports, and
// writes the result line.
void write_result(run_state &f, const run_end &end);

// Of the workers, in their order.
inline std::vector<int> cpus_of(const run_state &f) {
    std::vector<int> cpus;
    for (const worker &w : f.workers) cpus.push_back(w.cpu);
    return cpus;
}

// Runs over stages: `visit(stage &, worker index, stage index)`.
template <typename Visit>
void for_each_stage(run_state &f, Visit visit) {
    for (size_t w = 0; w < f.workers.size(); w++)
        for (size_t s = 0; s < f.workers[w].stages.size(); s++) visit(f.workers[w].stages[s], w, s);
}

// Runs over the stages of a workload's client applications, likewise.
template <typename Visit>
void for_each_client_stage(run_state &f, uint32_t workload, Visit visit) {
    for_each_stage(f, [&](stage &s, size_t w, size_t i) {
        const endpoint &e = f.endpoints[s.place.endpoint];
        const bool application = s.place.stage == stage_kind::app_tx || s.place.stage == stage_kind::app_rx;
        if (application && e.plan->side == side::client &&
            e.applications[s.place.index]->workload == workload)
            visit(s, w, i);
    });
}

}  // namespace wt
