// A client and a server one of whose applications copies payload, with a copier that a test drives by hand or
// one that Windtunnel has. Starts EAL on ordinary memory: no root, no hugepages.
#pragma once

#include "by_hand.h"
#include "stages/copying.h"
#include "stages_rig.h"

namespace wt::test {

using nlohmann::json;
using enum stage_kind;

inline json copying_plan(const json &copies = json::object(), const json &workload = json::object()) {
    json p = rig_plan();
    json &w = p["workloads"][0];
    w.update({{"request_bytes", 1000},
              {"client_slots", 32},
              {"source", {{"bytes", 1 << 16}, {"order", "rotating"}}}});
    w["copies"] = {{"engine", "cpu"}, {"options", json::object()},   {"depth", 64},
                   {"batch", 32},     {"way", "pipelined"},          {"at_least_bytes", 0},
                   {"verify", true},  {"timeout_ns", 1'000'000'000}, {"lcores", json::array()},
                   {"model", nullptr}};
    w["copies"].update(copies);
    w.update(workload);
    return p;
}

// Responses that fs_read names.
inline json naming_plan(const json &copies = json::object(), const json &workload = json::object()) {
    json p = copying_plan(copies);
    p["workloads"][0].update({{"request_bytes", 86},
                              {"response_bytes", 1016},  // a body of 1000, with a head of 16
                              {"source", nullptr},
                              {"handler", {{"name", "fs_read"}, {"options", {{"file", "65536"}}}}}});
    p["workloads"][0].update(workload);
    return p;
}

// A rig whose client has this copier.
struct copying_rig : rig {
    by_hand hand;

    explicit copying_rig(const json &plan, bool is_by_hand = true) : rig(plan) {
        if (!is_by_hand) return;
        body_copying &c = copying();
        c.channel.close(c.channel.state);
        c.channel = {
            .state = &hand, .submit = by_hand::submit, .completed = by_hand::completed, .close = [](void *) {
            }};
    }
    ~copying_rig() {
        hand.may_end = UINT32_MAX;  // what still runs ends well
        f.signals.sending = false;
        loops(500);
    }

    bool has_source() { return app(client).source != nullptr; }
    size_t copying_side() { return has_source() ? client : server; }
    body_copying &copying() { return *app(copying_side()).copying; }
    copy_stats &copies() { return *stats(copying_side(), has_source() ? app_tx : app_rx).copies; }
    const checked_bodies &checked() {
        return has_source() ? app(server).checking_requests->found : app(client).checking_responses->found;
    }
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
};

}  // namespace wt::test
