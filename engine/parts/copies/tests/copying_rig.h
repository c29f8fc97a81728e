// A client and a server one of whose applications copies payload, with a copier that a test drives by hand or
// one that Windtunnel has. Starts EAL on ordinary memory: no root, no hugepages.
#pragma once

#include "by_hand.h"
#include "parts/copies/copy_costs.h"
#include "parts/copies/copying.h"
#include "stages_rig.h"

namespace wt::test {

// What the plan of a workload says of copies by the CPU, with these changes.
json copies_of(const json &changes = json::object());

json copying_plan(const json &copies = json::object(), const json &workload = json::object());

// Responses that fs_read names.
json naming_plan(const json &copies = json::object(), const json &workload = json::object());

// The copiers that are loops of the CPU: they work themselves, without a thread and without figures.
std::vector<std::string> loops_of_the_cpu();

// A rig whose client has this copier.
struct copying_rig : rig {
    by_hand hand;

    explicit copying_rig(const json &plan, bool is_by_hand = true) : rig(plan) {
        if (is_by_hand) hand.replace(copying().channel);
    }
    ~copying_rig() {
        hand.may_end = UINT32_MAX;  // what still runs ends well
        f.signals.sending = false;
        loops(500);
    }

    bool has_source() {
        const copied_bodies *const b = find_bodies(app(client));
        return b && b->source;
    }
    size_t copying_side() { return has_source() ? client : server; }
    body_copying &copying() { return copying_of(app(copying_side())); }
    copy_stats &copies() { return copies_of(stats(copying_side(), has_source() ? app_tx : app_rx)); }
    const checked_bodies &checked() {
        return has_source() ? bodies_of(app(server)).checking_requests->found
                            : bodies_of(app(client)).checking_responses->found;
    }
    // What the result says of the cost of copies by the CPU.
    json told_of_cpu() { return cpu_copies_json(app(copying_side())); }
    // One call of the stage that has the copier.
    call_result call() { return run(copying_side(), has_source() ? app_tx : app_rx); }
    uint64_t by_cpu(copy_reason why) { return copies().by_cpu[static_cast<size_t>(why)]; }
    uint32_t on_the_ring() { return app(copying_side()).links[0]->to_dispatcher->used(); }
    // Brings requests to the server's app_rx.
    void send() {
        loop(client);
        run(server, nic_rx);
        run(server, disp_rx);
    }
    // The call of the stage that has the copier in which the first copies are started.
    call_result begin() {
        if (!has_source()) send();
        return call();
    }
};

}  // namespace wt::test
