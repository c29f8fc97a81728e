// The main thread's part of a flight: windows, phases, the supervisor's word, and the end.
#include <poll.h>
#include <rte_launch.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "core/refusal.h"
#include "flight/flight.h"
#include "flight/turns.h"

namespace wt {

namespace {

constexpr uint64_t ms = 1'000'000;
constexpr uint64_t arp_patience_ns = 3'000 * ms, arp_again_ns = 100 * ms;
// The two ends of a memif start within one poll of each other: the client flies on a little, so that the server's measurement
// is complete. The server flies on until it is told that the client has landed, at most so much longer than its drain. Words are
// said again every 100 ms (meeting.cc): a linger that ended with one of them would leave its answer to nobody.
constexpr uint64_t linger_ns = 250 * ms, stay_ns = 2'000 * ms;
// How long, at most, a client that has landed keeps its port open for a server that still polls.
constexpr uint64_t hold_ns = 3'000 * ms, orphan_hold_ns = 1'000 * ms;
// How long a client asks its server to take note of its landing, how long a server answers that, and how long who stops early.
constexpr uint64_t parting_ns = 2'000 * ms, echo_ns = 300 * ms, hurried_parting_ns = 500 * ms;
// How often workers look how fast their cores run: not more often, and about so many times a window.
constexpr uint64_t beat_ns = 10 * ms, beats_a_window = 48;
// Who stops a flight early does not wait for every answer.
constexpr uint64_t hurried_drain_ns = 500 * ms;

struct pilot {
    flight &f;
    int control;
    turns turn;
    std::optional<end_reason> ordered;  // by the supervisor, or by the loss of somebody
    bool client_landed = false;         // says the supervisor to a server
    bool watch_link = false;
    meeting other{f.greeter.get(), f.plan, f.lines};
    uint64_t next_beat = 0;
    bool measured = false;  // nothing that the other host says changes the measurement any more

    uint64_t now_ns() const { return f.lines.now_ns(); }

    // Whether the end came before the measurement was complete.
    bool early() const { return ordered && *ordered != end_reason::duration && *ordered != end_reason::messages; }

    // Waits until `until_ns` at the most, in steps in which everything that main looks after gets its turn.
    void wait(uint64_t until_ns) {
        const uint64_t now = now_ns();
        const uint64_t step = f.record ? ms : 10 * ms;
        const uint64_t left = until_ns > now ? until_ns - now : 0;
        const timespec time = {0, static_cast<long>(std::min(left, step))};
        pollfd p = {control, POLLIN, 0};
        if (ppoll(&p, 1, &time, nullptr) > 0) listen();
        if (f.record) recorder_drain(f.record);
        if (f.trace) f.trace->drain();
        if (watch_link) look_at_links();
        look_at_other_host();
        beat();
    }

    void beat() {
        if (now_ns() < next_beat) return;
        next_beat = now_ns() + std::max(beat_ns, f.plan.phases.window_ns / beats_a_window);
        f.signals.beat.fetch_add(1, std::memory_order_relaxed);
    }

    void look_at_other_host() {
        other.turn();
        client_landed |= other.landed();
        if (!ordered && !measured) ordered = other.end();
    }

    void listen() {
        char said[64];
        const ssize_t n = read(control, said, sizeof said);
        if (n == 0) {
            ordered = end_reason::parent_lost;
            control = -1;  // poll passes over it from now on
        }
        if (n <= 0) return;
        const std::string_view words(said, static_cast<size_t>(n));
        client_landed |= words.find("landed") != std::string_view::npos;
        if (!ordered && (client_landed || words.find("stop") != std::string_view::npos)) ordered = end_reason::stopped;
    }

    bool all_links_up() const {
        for (const port &p : f.ports) {
            rte_eth_link link{};
            if (rte_eth_link_get_nowait(p.id, &link) == 0 && link.link_status == RTE_ETH_LINK_DOWN) return false;
        }
        return true;
    }

    void look_at_links() {
        if (!ordered && !all_links_up()) ordered = end_reason::peer_lost;
    }

    // Waits until a worker writes to the next set of counters. A handler may take its time; the supervisor notices when it takes for
    // ever. A worker that has no CPU is said, because it takes more patience: six that spin on two CPUs were seen to leave one
    // without any for more than six seconds.
    void await(const worker &w, uint32_t epoch) {
        const uint64_t second = 1000 * ms;
        uint64_t look_at = now_ns() + second;
        std::optional<sched_times> before;
        bool said = false;
        while (w.epoch_seen.load(std::memory_order_acquire) != epoch && ordered != end_reason::parent_lost) {
            wait(now_ns() + ms / 20);
            if (said || now_ns() < look_at) continue;
            look_at += second;
            const auto now = schedstat_of(w.tid.load(std::memory_order_relaxed));
            if (before && now && now->on_cpu_ns - before->on_cpu_ns < second / 100)
                said = f.lines.phase("flying, though the worker on CPU " + std::to_string(w.cpu) + " has not run for a second");
            before = now;
        }
    }

    // Waits for this flight's turn, where it has to share them. Whoever is ordered to end does not wait.
    void take_turn() {
        while (!ordered && !turn.await(control)) listen();
        turn.go_on();
    }

    // Closes the window: every worker goes on to the next set of counters, then the last one is read.
    void next_window(const char *phase) {
        const uint32_t epoch = f.signals.epoch.load(std::memory_order_relaxed) + 1;
        f.signals.epoch.store(epoch, std::memory_order_release);
        for (const worker &w : f.workers) await(w, epoch);
        if (ordered == end_reason::parent_lost) return;
        const uint64_t end = now();
        turn.hold();
        write_window(f, phase, epoch - 1, end);
    }

    uint64_t answered() const {
        uint64_t sum = 0;
        for (const endpoint &e : f.endpoints)
            for (const auto &a : e.applications)
                if (a->receiving) sum += a->receiving->answered.load(std::memory_order_relaxed);
        return sum;
    }

    // Flies one phase in windows. Returns false where it was cut short.
    bool phase(const char *name, uint64_t length_ns, std::optional<uint64_t> messages) {
        const uint64_t end = now_ns() + length_ns, goal = messages ? answered() + *messages : UINT64_MAX;
        uint64_t window_end = now_ns();
        while (window_end < end && !ordered && answered() < goal) {
            window_end = std::min(window_end + f.plan.phases.window_ns, end);
            // A last sliver would be a window that nobody can read anything from.
            if (end - window_end < f.plan.phases.window_ns / 2) window_end = end;
            take_turn();
            while (now_ns() < window_end && !ordered && answered() < goal) wait(window_end);
            next_window(name);
            turn.hand_on();
        }
        return !ordered && (!messages || answered() >= goal);
    }

    // Every worker ends the loop that it is in. What it made there is counted by then.
    void end_loops() {
        f.signals.held.store(1, std::memory_order_release);
        for (const worker &w : f.workers)
            while (!w.parked.load(std::memory_order_acquire) && ordered != end_reason::parent_lost) wait(now_ns() + ms / 20);
        release(f.signals);
    }

    bool in_flight() const {
        for (const endpoint &e : f.endpoints)
            for (const auto &a : e.applications)
                if (a->inflight && a->inflight->free.used() < a->inflight->slots.size()) return true;
        return false;
    }

    // No new messages; those in flight get their answers, if they come in time and nobody orders an end meanwhile. A server
    // whose client is another process answers until it is told that its client needs no more.
    void drain(bool peer_is_another_process, bool is_client) {
        measured = true;
        f.signals.sending.store(false, std::memory_order_release);
        const auto before = ordered;
        const uint64_t start = now_ns();
        end_loops();  // who still saw it has its messages in flight now
        const bool nobody_came = other.active() && !other.met();
        const bool may_stay = peer_is_another_process && !is_client && !nobody_came && ordered != end_reason::parent_lost;
        const uint64_t longest = early() ? std::min(f.plan.phases.drain_ns, hurried_drain_ns) : f.plan.phases.drain_ns;
        const uint64_t end = start + longest + (may_stay ? stay_ns : 0);
        while (now_ns() < end && ordered == before) {
            const bool linger = peer_is_another_process && is_client && now_ns() < start + linger_ns;
            const bool stay = may_stay && !client_landed && !other.lost() && all_links_up();
            if (!in_flight() && !linger && !stay) break;
            wait(end);
        }
        // The measurement was complete: who calls or leaves during the drain changes nothing about it.
        if (ordered != end_reason::parent_lost) ordered = before;
    }

    // The client tells the other host that it has landed, and the server is there to hear it; each at most so long.
    void part(bool is_client) {
        if (!other.met()) return;
        if (is_client) other.say(word::landed, early());
        const uint64_t give_up = now_ns() + (is_client && !early() ? parting_ns : hurried_parting_ns);
        while (now_ns() < give_up && !other.landed()) wait(give_up);
        if (!other.landed() && !early()) ordered = end_reason::peer_lost;
        // A server stays for words that are said again because its answer was lost, and until a client on memif polls no more.
        const uint64_t end = now_ns() + (!is_client && other.landed() ? echo_ns : 0);
        while (now_ns() < end) wait(end);
    }

    // net_memif takes its shared memory away as soon as the other end leaves, even from under a worker that is just polling it.
    // So a client that has landed says so and keeps its port open until the server has landed too. Two ends that have lost
    // their parent land at the same time, each in its own, and nobody tells them about the other: both hold.
    void hold_the_port() {
        watch_link = false;
        f.lines.phase("landed");
        const auto before = ordered;
        const uint64_t start = now_ns();
        const auto longest = [&] { return ordered == end_reason::parent_lost ? orphan_hold_ns : hold_ns; };
        while (now_ns() < start + longest() && all_links_up()) wait(start + longest());
        if (ordered != end_reason::parent_lost) ordered = before;
    }
};

void resolve_peer(pilot &p, endpoint &e) {
    if (e.plan->side != side::client || e.plan->peer_mac) return;
    p.f.lines.phase("resolving the peer by ARP");
    const uint64_t give_up = p.now_ns() + arp_patience_ns;
    while (p.now_ns() < give_up && !p.ordered) {
        e.resolver.ask.store(true, std::memory_order_relaxed);
        const uint64_t again = p.now_ns() + arp_again_ns;
        while (p.now_ns() < again && !p.ordered) {
            if (const uint64_t known = e.resolver.answer.load(std::memory_order_acquire)) {
                mac_address mac;
                std::memcpy(mac.bytes, &known, sizeof mac.bytes);
                return set_peer(e, mac);
            }
            p.wait(again);
        }
    }
    if (!p.ordered)
        throw refusal("nobody answers ARP for the server's address within 3 s",
                      "check server.ip and the wire, or give client.peer_mac");
}

// Waits for the other host's hello. The time until then is a window of its own.
void meet(pilot &p, bool is_client) {
    if (!p.other.active() || p.ordered) return;
    p.other.begin();
    while (!p.other.met() && !p.ordered) {
        p.other.wait_for(is_client ? "the server's hello" : "a client's hello");
        p.wait(p.now_ns() + 10 * ms);
    }
    if (p.ordered) return;
    p.f.lines.write(p.other.met_line());
    p.next_window("hello");
}

json ready_line(const flight &f) {
    json drivers = json::object(), notes = json::array();
    for (size_t i = 0; i < f.ports.size(); i++) {
        drivers[side_names[static_cast<int>(f.plan.endpoints[i].side)]] = f.ports[i].driver;
        for (const std::string &note : f.ports[i].notes) notes.push_back(note);
        if (f.ports[i].kind == port_kind::pci)
            notes.push_back("NIC " + f.ports[i].address + ": " + link_words(f.ports[i]));
    }
    return {{"type", "ready"},
            {"at_ns", f.lines.now_ns()},
            {"level_cost_ticks", level_cost_ticks(f.plan.accounting.level, f.plan.accounting.sample_every)},
            {"stamp_ticks", stamp_ticks()},
            {"drivers", drivers},
            {"notes", notes}};
}

void launch(flight &f) {
    f.lines.write(ready_line(f));
    f.lines.phase("flying");
    for (worker &w : f.workers) rte_eal_remote_launch(worker_main, &w, w.lcore);
    f.window_start = now();
}

void land(flight &f) {
    f.signals.stop.store(true, std::memory_order_release);
    release(f.signals);
    for (worker &w : f.workers) rte_eal_wait_lcore(w.lcore);
}

// Whatever goes wrong on the way, the workers leave their loops before their memory goes.
struct landing {
    flight &f;
    ~landing() { land(f); }
};

}  // namespace

flight_end fly(flight &f, int control, const turn_descriptors &turns) {
    pilot p{f, control, {f, turns}, {}};
    const bool memif = f.plan.endpoints[0].port.kind == port_kind::memif;
    const bool is_client = f.plan.endpoints[0].side == side::client;
    f.lines.phase("waiting for the link");
    bool linked = true;
    for (const port &port : f.ports)
        linked &= wait_for_link(port, [](void *a) {
            pilot &waiting = *static_cast<pilot *>(a);
            waiting.wait(0);
            waiting.other.wait_for("the link");
            return !waiting.ordered;
        }, &p);
    p.watch_link = memif;
    const bool alone_on_memif = memif && f.endpoints.size() == 1;

    uint64_t start = p.now_ns(), end = start;
    bool whole = false;
    if (linked) {
        landing at_last{f};
        launch(f);
        if (p.turn.taken()) {
            p.turn.hold();
            f.lines.phase("waiting for its turn");
        }
        for (endpoint &e : f.endpoints) resolve_peer(p, e);
        meet(p, is_client);
        f.signals.sending_since = now();
        f.signals.sending.store(true, std::memory_order_release);
        if (f.plan.phases.warmup_ns > 0 && !p.ordered) p.phase("warmup", f.plan.phases.warmup_ns, {});
        start = p.now_ns();
        whole = !p.ordered && p.phase("measure", f.plan.phases.duration_ns, f.plan.phases.messages);
        p.take_turn();
        end = p.now_ns();
        p.other.measured(p.early());
        p.drain(alone_on_memif || p.other.active(), is_client);
        p.part(is_client);
    }
    write_window(f, "drain", f.signals.epoch.load(std::memory_order_relaxed), now());
    if (linked && alone_on_memif && (is_client || p.ordered == end_reason::parent_lost)) p.hold_the_port();
    p.wait(0);  // whoever is gone by now must not be relied upon to clear up behind us
    const end_reason natural = f.plan.phases.messages && whole ? end_reason::messages : end_reason::duration;
    return {p.ordered.value_or(natural), end - start};
}

}  // namespace wt
