// The end of a run: the drain, the end of the session with the other host, the port.
#include "core/inflight.h"
#include "parts/registry.h"
#include "run/run_control.h"

namespace wt {

// The two ends of a memif start within one poll of each other. The client therefore lingers, so that the
// server's measurement is complete. The server stays until it is told that its client has finished, at most
// this much longer than its drain. The linger lasts longer than the 100 ms between two hellos
// (peer_session.cc), so that a response to the last one is received.
constexpr uint64_t linger_ns = 250 * ms, stay_ns = 2'000 * ms;
// How long a client that has finished keeps its port open for a server that still polls.
constexpr uint64_t hold_ns = 3'000 * ms, orphan_hold_ns = 1'000 * ms;
// How long a client repeats that it has finished; how long a server confirms it; and the former after an
// early stop.
constexpr uint64_t finish_ns = 2'000 * ms, confirm_ns = 300 * ms, early_finish_ns = 500 * ms;
// A run that is stopped early does not wait for every response.
constexpr uint64_t early_drain_ns = 500 * ms;

// Lets every worker end its current loop, so that what it sent there is counted. Who is still parked when
// this returns would pass, the next time, for a worker that has ended a loop which it is about to begin.
void run_control::end_loops() {
    const auto await_all = [&](bool parked) {
        for (const worker &w : f.workers)
            while (w.parked.load(std::memory_order_acquire) != parked && ordered != end_reason::parent_lost)
                wait(now_ns() + ms / 20);
    };
    f.signals.held.store(hold_state::asleep, std::memory_order_release);
    await_all(true);
    release(f.signals);
    await_all(false);
}

bool run_control::in_flight() const {
    for (const endpoint &e : f.endpoints)
        for (const auto &a : e.applications)
            if (a->inflight && a->inflight->free.used() < a->inflight->slots.size()) return true;
    return ask_parts(&part::is_unfinished, f);
}

void run_control::drain(bool peer_is_another_process, bool is_client) {
    measured = true;
    f.signals.sending.store(false, std::memory_order_release);
    const auto before = ordered;
    const uint64_t start = now_ns();
    end_loops();  // messages sent before the store above are in flight now
    const bool never_connected = peer.active() && !peer.established();
    const bool may_stay =
        peer_is_another_process && !is_client && !never_connected && ordered != end_reason::parent_lost;
    const uint64_t longest =
        early() ? std::min(f.plan.phases.drain_ns, early_drain_ns) : f.plan.phases.drain_ns;
    const uint64_t end = start + longest + (may_stay ? stay_ns : 0);
    while (now_ns() < end && ordered == before) {
        const bool linger = peer_is_another_process && is_client && now_ns() < start + linger_ns;
        const bool stay = may_stay && !client_finished && !peer.lost() && all_links_up();
        if (!in_flight() && !linger && !stay) break;
        wait(end);
    }
    // The measurement is complete: a stop or a lost peer during the drain does not change it.
    if (ordered != end_reason::parent_lost) ordered = before;
}

void run_control::end_session(bool is_client) {
    if (!peer.established()) return;
    if (is_client) peer.enter(session_state::finished, early());
    const uint64_t give_up = now_ns() + (is_client && !early() ? finish_ns : early_finish_ns);
    while (now_ns() < give_up && !peer.finished()) wait(give_up);
    if (!peer.finished() && !early()) ordered = end_reason::peer_lost;
    if (!peer.finished()) return;
    // A server confirms repeated hellos, because a response may have been lost, until its client stops
    // polling. A client receives the responses that are on their way, so that the packets that its peer
    // counted arrive.
    if (is_client) end_loops();  // no worker says another hello
    const uint64_t end = now_ns() + confirm_ns;
    while (now_ns() < end && !(is_client && peer.all_responded())) wait(end);
}

// net_memif unmaps its shared memory as soon as the other end closes, even while a worker polls it. So a
// client that has finished announces it and keeps its port open until the server has finished, too. Two ends
// that have lost their supervisor finish independently, without knowing about each other: both hold
// their ports.
void run_control::hold_port() {
    when_lost = link_loss::is_ignored;
    f.lines.phase("lingering");
    const auto before = ordered;
    const uint64_t start = now_ns();
    const auto longest = [&] { return ordered == end_reason::parent_lost ? orphan_hold_ns : hold_ns; };
    while (now_ns() < start + longest() && all_links_up()) wait(start + longest());
    if (ordered != end_reason::parent_lost) ordered = before;
}

}  // namespace wt
