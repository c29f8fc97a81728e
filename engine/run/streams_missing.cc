// Streams in an engine that was built without TCP: it says so, and has none.
#include "core/refusal.h"
#include "run/run.h"
#include "run/streams.h"

namespace wt {

void stream_deleter::operator()(stream *) const {}

void open_stream(run_state &, application &, const endpoint_plan &, const workload_plan &w) {
    throw refusal(
        "workload " + w.name + ": this engine was built without TCP",
        "install Rust 1.91 or later with cargo, which needs a network once, and build the engine again");
}

void link_streams(run_state &, endpoint &, uint32_t) {}
void set_stream_peer(dispatcher &, const mac_address &) {}
stage_function stream_function(stage_kind, bool) { return nullptr; }
handler_steps *stream_steps(const dispatcher &) { return nullptr; }
bool streams_unfinished(const run_state &) { return false; }
bool streams_reset(const run_state &) { return false; }
void free_spares(run_state &) {}
nlohmann::ordered_json streams_of_run(const run_state &) { return nlohmann::ordered_json::array(); }

}  // namespace wt
