// How a run opens its copies: the part's hooks (parts/part.h), and what another part may have copied. All
// throw refusal.
#pragma once

#include "parts/copies/copy_costs.h"
#include "parts/copies/source.h"
#include "run/run.h"

namespace wt {

void tell_handler_of_copies(const workload_plan &w, wt_open &about);
bool handler_checks_copies(const workload_plan &w, const wt_handler &table);

// A copier for the requests of clients, which come from the workload's source, or where it has none, for
// copies of responses that a server's handler names; and what either side needs for checks.
void open_copies(run_state &f, endpoint &e, uint32_t endpoint_index);
void open_stage_of_copies(run_state &f, stage &s, const endpoint &e);

// For a carrier (stages/carrier.h) that has copies made to memory of its own; `burst`: the most pieces of one
// call of app_tx.
void open_carrier_copies(run_state &f, application &a, const workload_plan &w, const source_layout &layout,
                         uint32_t burst, const copy_places &places);

}  // namespace wt
