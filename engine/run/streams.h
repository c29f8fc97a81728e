// Streams in a run: opens connections, and says what became of them.
#pragma once

#include <nlohmann/json.hpp>

#include "core/stage.h"
#include "plan/plan.h"

namespace wt {

struct application;
struct dispatcher;
struct endpoint;
struct run_state;

// A connection of an application, whose workload is a stream. Throws refusal, also where this engine was
// built without TCP.
void open_stream(run_state &f, application &a, const endpoint_plan &e, const workload_plan &w);
// Gives the connections of an endpoint to their dispatchers, which must be on the same workers.
void link_streams(run_state &f, endpoint &e, uint32_t endpoint_index);
// The client's peer is known from here on.
void set_stream_peer(dispatcher &d, const mac_address &peer);

// Of an application or a dispatcher that has a stream.
stage_function stream_function(stage_kind stage, bool client);
// Of disp_tx: the copies that TCP itself makes.
handler_steps *stream_steps(const dispatcher &d);

// Whether a client's connection has not said its last word, or a server has not read its client's.
bool streams_unfinished(const run_state &f);
// Whether a connection was reset, and how.
bool streams_reset(const run_state &f);

// Frees the mbufs that connections keep ready.
void free_spares(run_state &f);
// Every connection's account of its bytes.
nlohmann::ordered_json streams_of_run(const run_state &f);

}  // namespace wt
