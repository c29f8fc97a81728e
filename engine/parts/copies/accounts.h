// What becomes of copies in a run: what is told of a window, of a probe and at the end, and how they end.
#pragma once

#include <rte_mempool.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "core/host_probe.h"
#include "core/terms.h"

namespace wt {

struct body_copying;
struct copier_thread;
struct endpoint;
struct run_state;
struct thread_account;

// Of the stage that has a copier; null: this one has none.
body_copying *copying_in(const stage_of &place, const endpoint &e);

// Totals since the start; 0 if the kernel has no counter, and then every window's are 0 too.
thread_account account_of(const copier_thread &t);

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
