// windtunnel-dispatch: makes arrivals for tenants on a core of its own: posts each to its tenant's
// ring and rings its doorbell. Its plan is one JSON line on stdin, which stays open: it ends when stdin
// closes. The result line has the number of posted requests.
#include <sys/mman.h>
#include <unistd.h>

#include <thread>

#include "core/refusal.h"
#include "slicers/control.h"
#include "slicers/mapped.h"
#include "slicers/mechanisms.h"
#include "slicers/post.h"
#include "slicers/tenant_plan.h"
#include "slicers/waiting.h"

using wt::json_object;
using wt::json_value;

namespace {

struct plan {
    std::vector<std::string> rings;
    std::string doorbell;  // empty: tenants poll by themselves
    wt::arrival_phases phases;
    uint64_t seed, start_ns, duration_ns;
};

struct counts {
    uint64_t posted = 0, lost = 0;
};

plan read_plan(const std::string &line) {
    const auto document = wt::parse_json(line);
    return wt::read_object(json_value(document, ""), [](json_object &o) {
        plan p;
        p.rings = o["rings"].list([](const json_value &v) { return v.text(); }, 1, WT_DOORBELL_TENANTS);
        p.doorbell = o["doorbell"].text();
        p.phases = wt::read_phases(o["phases"], 1);
        p.seed = o["seed"].whole<uint64_t>();
        p.start_ns = o["start_ns"].whole<uint64_t>();
        p.duration_ns = o["duration_ns"].whole<uint64_t>(1);
        return p;
    });
}

wt_doorbell *map_bell(const std::string &path) {
    if (path.empty()) return nullptr;
    auto *bell = static_cast<wt_doorbell *>(wt::map_shared(path, sizeof(wt_doorbell), 0));
    if (std::atomic_ref<uint32_t>(bell->version).load(std::memory_order_acquire) != WT_DOORBELL_VERSION)
        throw wt::refusal(path + ": not a doorbell of this version");
    return bell;
}

// Polls the clock: it has a core for itself, or its tenants' requests come late.
counts dispatch(const plan &p, const std::atomic<bool> &stop) {
    std::vector<wt::posting_ring *> rings;
    std::vector<wt::arrival_cursor> cursors;
    for (const std::string &path : p.rings) {
        rings.push_back(wt::map_posting_ring(path));
        cursors.push_back(wt::arrival_cursor_at_start(p.phases, 1, p.seed + rings.size()));
        cursors.back().start = p.start_ns;
    }
    wt_doorbell *bell = map_bell(p.doorbell);
    counts c;
    for (uint64_t now;
         (now = wt::monotonic_ns()) < p.start_ns + p.duration_ns && !stop.load(std::memory_order_relaxed);) {
        for (unsigned i = 0; i < rings.size(); i++) {
            uint64_t due;
            if (!wt::arrival_walk_due(cursors[i], now, 1, &due)) continue;
            const bool posted = rings[i]->post({due, wt::monotonic_ns()});
            posted ? c.posted++ : c.lost++;
            if (bell) wt_doorbell_ring(bell, i);
        }
    }
    for (wt::posting_ring *ring : rings) munmap(ring, sizeof *ring);
    if (bell) munmap(bell, sizeof *bell);
    return c;
}

void run() {
    wt::line_reader commands(STDIN_FILENO);
    std::optional<std::string> line;
    while (!(line = commands.next(-1)))
        if (commands.ended()) throw wt::refusal("no plan on stdin");
    const plan p = read_plan(*line);
    wt::say(STDOUT_FILENO, {{"type", "hello"}, {"pid", getpid()}});
    std::atomic<bool> stop = false, over = false;
    counts c;
    std::exception_ptr failure;
    std::thread work([&] {
        try {
            c = dispatch(p, stop);
        } catch (...) {
            failure = std::current_exception();
        }
        over = true;
    });
    while (!over) {
        commands.next(20);
        if (commands.ended()) stop = true;
    }
    work.join();
    if (failure) std::rethrow_exception(failure);
    wt::say(STDOUT_FILENO, {{"type", "result"}, {"posted", c.posted}, {"lost", c.lost}});
}

}  // namespace

int main() { return wt::in_words(run); }
