#include "run/execution.h"

#include <rte_launch.h>

#include <cstring>

#include "core/refusal.h"
#include "run/run_control.h"
#include "wires/registry.h"

namespace wt {

namespace {

constexpr uint64_t arp_patience_ns = 3'000 * ms, arp_again_ns = 100 * ms;

// Whether the NIC may drop what is sent to the endpoint's MAC, because that is not the NIC's.
bool may_be_deaf(const endpoint &e) { return has(*e.port->wire, WT_WIRE_OWN_MAC) && e.plan->mac; }

// Returns whether the peer had to be looked for.
bool resolve_peer(run_control &p, endpoint &e) {
    if (e.plan->side != side::client || e.plan->peer_mac) return false;
    p.f.lines.phase("resolving the peer by ARP");
    const uint64_t give_up = p.now_ns() + arp_patience_ns;
    while (p.now_ns() < give_up && !p.ordered) {
        e.resolver.ask.store(true, std::memory_order_relaxed);
        const uint64_t again = p.now_ns() + arp_again_ns;
        while (p.now_ns() < again && !p.ordered) {
            if (const uint64_t known = e.resolver.response.load(std::memory_order_acquire)) {
                mac_address mac;
                std::memcpy(mac.bytes, &known, sizeof mac.bytes);
                return set_peer(e, mac), true;
            }
            p.wait(again);
        }
    }
    if (!p.ordered)
        throw refusal(
            "no ARP reply for the server's address within 3 s",
            "check server.ip and the wire, or set client.peer_mac: a server whose packet handler "
            "passes nothing on answers no ARP" +
                std::string(may_be_deaf(e) ? "; a virtual function may take no frames but to its own "
                                             "MAC: client.mac = \"nic\""
                                           : ""));
    return true;
}

// Waits for the session with the other host; returns whether there is one to wait for.
bool establish_session(run_control &p, bool is_client) {
    if (!p.peer.active() || p.ordered) return false;
    p.peer.begin();
    while (!p.peer.established() && !p.ordered) {
        p.peer.wait_for(is_client ? "the server's hello" : "a client's hello");
        p.wait(p.now_ns() + 10 * ms);
    }
    if (!p.ordered) p.f.lines.write(p.peer.peer_line());
    return true;
}

// Meets the peer and lets clients send. What it took to meet is a window of its own: no load was there yet.
void begin_load(run_control &p, bool is_client) {
    bool looked = false;
    for (endpoint &e : p.f.endpoints) looked |= resolve_peer(p, e);
    looked |= establish_session(p, is_client);
    p.f.signals.sending_since = now();
    p.f.signals.sending.store(true, std::memory_order_release);
    if (looked && !p.ordered) p.next_window("hello");
}

json ready_line(const run_state &f) {
    json drivers = json::object(), notes = f.notes;
    for (size_t i = 0; i < f.ports.size(); i++) {
        drivers[side_names[static_cast<int>(f.plan.endpoints[i].side)]] = f.ports[i].driver;
        for (const std::string &note : f.ports[i].notes) notes.push_back(note);
        if (has(*f.ports[i].wire, WT_WIRE_NIC))
            notes.push_back("NIC " + f.ports[i].address + ": " + f.ports[i].operations->words(f.ports[i]));
    }
    return {{"type", "ready"},
            {"at_ns", f.lines.now_ns()},
            {"level_cost_ticks", level_cost_ticks(f.plan.accounting.level, f.plan.accounting.sample_every)},
            {"stamp_ticks", stamp_ticks()},
            {"timed_call_ticks", timed_call_ticks()},
            {"drivers", drivers},
            {"notes", notes}};
}

void launch(run_state &f) {
    f.lines.write(ready_line(f));
    f.lines.phase("running");
    for (worker &w : f.workers) rte_eal_remote_launch(worker_main, &w, w.lcore);
    f.window_start = now();
}

void finish(run_state &f) {
    f.signals.stop.store(true, std::memory_order_release);
    release(f.signals);
    for (worker &w : f.workers) rte_eal_wait_lcore(w.lcore);
}

// Also after an exception the workers leave their loops before their memory is freed.
struct finishing {
    run_state &f;
    ~finishing() { finish(f); }
};

}  // namespace

run_end execute_run(run_state &f, int control, const turn_descriptors &turns) {
    run_control p{f, control, {f, turns}, {}};
    const bool process_each = has(wire_of(f.plan.endpoints[0]), WT_WIRE_PROCESS_EACH);
    const bool is_client = f.plan.endpoints[0].side == side::client;
    f.lines.phase("waiting for the link");
    const bool linked = wait_for_links(
        f.ports,
        [](void *a) {
            run_control &waiting = *static_cast<run_control *>(a);
            waiting.wait(0);
            waiting.peer.wait_for("the link");
            return !waiting.ordered;
        },
        &p);
    p.when_lost = process_each || f.ports[0].queue != nullptr ? link_loss::ends_run : link_loss::is_booked;
    p.last_look = p.now_ns();
    const bool half_of_two = process_each && f.endpoints.size() == 1;

    uint64_t start = p.now_ns(), end = start;
    bool whole = false;
    if (linked) {
        finishing at_last{f};
        launch(f);
        if (p.turn.taken()) {
            p.hold();
            f.lines.phase("waiting for its turn");
        }
        begin_load(p, is_client);
        if (f.plan.phases.warmup_ns > 0 && !p.ordered) p.run_phase("warmup", f.plan.phases.warmup_ns, {});
        p.take_turn();
        start = p.now_ns();
        whole = !p.ordered && p.run_phase("measure", f.plan.phases.duration_ns, f.plan.phases.messages);
        p.take_turn();
        end = p.now_ns();
        p.peer.end_measurement(p.early());
        p.drain(half_of_two || p.peer.active(), is_client);
        p.end_session(is_client);
    }
    write_window(f, "drain", f.signals.epoch.load(std::memory_order_relaxed), now(), nullptr);
    if (linked && half_of_two && (is_client || p.ordered == end_reason::parent_lost)) p.hold_port();
    p.wait(0);  // notices a supervisor that is gone and will not clean up
    const end_reason natural = f.plan.phases.messages && whole ? end_reason::messages : end_reason::duration;
    return {p.ordered.value_or(natural), end - start - p.settled_ns, p.part_reason};
}

}  // namespace wt
