// When a client application's messages fall due: its part of the workload's load, in ticks.
#include <algorithm>
#include <limits>

#include "core/refusal.h"
#include "run/endpoints.h"
#include "run/seed.h"
#include "stages/client_state.h"

namespace wt {

namespace {

// ticks, months: a Poisson process waits up to 37 times as long, and that fits 63 bits
constexpr double longest_interval = 0x1p56;

// The load of one of `alike` identical applications of a workload, in ticks. Throws refusal for a rate that
// the clock cannot pace.
arrival_phases phases_of(const run_state &f, const workload_plan &w, double alike) {
    const double infinity = std::numeric_limits<double>::infinity();
    const auto ticks = [&](std::optional<uint64_t> ns, double none) {
        return ns ? static_cast<double>(*ns) / f.clock.ns_per_tick : none;
    };
    arrival_phases phases{{}, w.load->lead};
    for (const load_phase_plan &p : w.load->phases) {
        const double interval =
            p.rate_per_s > 0 ? alike * 1e9 / f.clock.ns_per_tick / p.rate_per_s : infinity;
        if (interval < 1 || (p.rate_per_s > 0 && interval > longest_interval))
            throw refusal(
                "workload " + w.name + ": " + std::to_string(p.rate_per_s) +
                    " messages per second cannot be paced by a clock of " +
                    std::to_string(1e9 / f.clock.ns_per_tick) + " Hz",
                interval < 1 ? "a lower rate, or more applications" : "a higher rate, or 0 for none");
        phases.list.push_back({ticks(p.length_ns, infinity), interval, ticks(p.on_ns, infinity),
                               ticks(p.off_ns, 0), p.arrivals == arrivals::poisson});
    }
    return phases;
}

// Index of the application in its workload, and the number of applications there.
std::pair<uint32_t, uint32_t> among_alike(const endpoint_plan &e, const application &a) {
    const auto is_alike = [&](const application_plan &o) { return o.workload == a.workload; };
    return {std::count_if(e.applications.begin(), e.applications.begin() + a.index, is_alike),
            std::count_if(e.applications.begin(), e.applications.end(), is_alike)};
}

}  // namespace

void open_load(const run_state &f, const workload_plan &w, const endpoint_plan &e, const application &a,
               client_sending &s) {
    const auto [which, alike] = among_alike(e, a);
    s.phases = phases_of(f, w, alike);
    // Constant arrivals of several applications interleave instead of falling together.
    s.next = arrival_cursor_at_start(s.phases, (which + 1.0) / alike,
                                     seed_of(f.plan.seed, chance::arrivals, a.index));
}

}  // namespace wt
