// Between the files that open an endpoint: its applications, its dispatchers, their loads and their handlers.
#pragma once

#include "run/run.h"

namespace wt {

constexpr uint32_t kind_index(stage_kind k) { return static_cast<uint32_t>(k); }

// A handler of the plan, and the stage that calls it.
struct handler_use {
    const handler_plan *handler;
    wt_kind kind;
    stage_of stage;
    uint32_t workload;
};

// The handler of an application, and that of a dispatcher, where they have one.
std::optional<handler_use> handler_of_application(const plan &p, uint32_t endpoint, uint32_t index);
std::optional<handler_use> handler_of_dispatcher(const plan &p, uint32_t endpoint, uint32_t index);

// What a handler is told at its open, but for what opened_handler fills in.
wt_open about_handler(const run_state &f, const handler_use &use);

// Opens a handler for one application or dispatcher; null on a client that does not call it. `steps` stays
// null where the handler names none. Throws handler_refusal.
const wt_handler *open_handler(run_state &f, const handler_use &use, void **state, handler_steps **steps);

// What stands around the messages of an endpoint.
framing framing_of(const endpoint &e);

// How many messages one call of app_tx makes, at most: those of many sizes are as many as a batch of packets
// holds.
uint32_t messages_at_once(const application &a, bool sizes_vary);

// What app_tx and app_rx of a client need whatever they send: an in-flight table, and a load that makes up to
// `at_once` messages a call. Throws refusal.
void open_sending(run_state &f, application &a, const endpoint &e, const workload_plan &w, uint32_t at_once);

// All throw refusal. `endpoint_index`: in the plan.
void open_applications(run_state &f, endpoint &e, uint32_t endpoint_index);
void open_dispatchers(run_state &f, endpoint &e, uint32_t endpoint_index);
// A client application's arrivals in open loop.
void open_load(const run_state &f, const workload_plan &w, const endpoint_plan &e, const application &a,
               client_sending &s);

}  // namespace wt
