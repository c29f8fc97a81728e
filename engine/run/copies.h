// Copies of payload in a run: opens them, ends them, and says what became of them.
#pragma once

#include <rte_malloc.h>
#include <rte_mempool.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "core/eal_memory.h"
#include "core/host_probe.h"
#include "core/source.h"
#include "core/stage.h"
#include "host/cpu_time.h"
#include "plan/plan.h"

namespace wt {

struct application;
struct body_copying;
struct copy_places;
struct endpoint;
struct run_state;

struct thread_account {
    sched_times sched;
    uint64_t steal_ns = 0;  // of its CPU
};

// The thread of a software copier, beside the worker that has its copies made by it.
struct copier_thread {
    application *of;
    uint32_t worker;
    eal_memory trip;  // where copies go that only measure the way, and behind it where they come from
    thread_account account = {};  // at the last window
};

// The hooks of the part (parts/part.h).
void tell_handler_of_copies(const workload_plan &w, wt_open &about);
bool handler_checks_copies(const workload_plan &w, const wt_handler &table);
// A copier for the requests of clients, which come from the workload's source, or where it has none, for
// copies of responses that a server's handler names; and what either side needs for checks. Throws refusal.
void open_copies(run_state &f, endpoint &e, uint32_t endpoint_index);
void open_stage_of_copies(run_state &f, stage &s, const endpoint &e);

// For a carrier (stages/carrier.h) that has copies made to memory of its own; `burst`: the most pieces of one
// call of app_tx.
void open_carrier_copies(run_state &f, application &a, const workload_plan &w, const source_layout &layout,
                         uint32_t burst, const copy_places &places);

// The ways to threads of copiers, for the probe of the host.
void add_ways_to_copiers(run_state &f, std::vector<probe_errand> &errands);

// After a hold: accounts of threads that ran on meanwhile begin anew.
void skip_copiers_time(run_state &f);

// Of a window that its workers have left, with what the probe at its end read of the ways; adds the window to
// the totals.
void add_copies_of_window(run_state &f, uint32_t epoch, const probe_reading *probe,
                          nlohmann::ordered_json &line);

// After the workers have stopped: waits for what runs, within a bound. What has not ended then never does.
void finish_all_copies(run_state &f);
// Frees packets that wait for their copies or for room.
void free_pending(run_state &f);
// Those of one pool that are not used again.
uint64_t abandoned_mbufs(const run_state &f, const rte_mempool *pool);
// The account of every copier against its driver's, and what became of bodies that were checked.
void add_copies_of_run(const run_state &f, nlohmann::ordered_json &line);

}  // namespace wt
