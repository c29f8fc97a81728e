// Streams in an engine that was built without TCP: it says so, and has none.
#include "core/refusal.h"
#include "parts/part.h"
#include "plan/plan.h"

namespace wt {

static bool refuse_stream(run_state &, application &, const endpoint &, const workload_plan &w) {
    if (!w.stream) return false;
    throw refusal(
        "workload " + w.name + ": this engine was built without TCP",
        "install Rust 1.91 or later with cargo, which needs a network once, and build the engine again");
}

WT_PART(streams) = {.name = "streams", .open_application = refuse_stream};

}  // namespace wt
