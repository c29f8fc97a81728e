#include "run/run_control.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "parts/registry.h"

namespace wt {

// Workers measure the speed of their cores at each beat: about so often in a window, and no more often than
// `beat_ns`.
constexpr uint64_t beat_ns = 10 * ms, beats_per_window = 48;

// Some drivers ask their NIC's firmware, which takes a millisecond.
constexpr uint64_t look_every_ns = 100 * ms;

// A look takes some microseconds a worker; pauses between two looks count as one.
constexpr uint64_t pause_look_every_ns = 8 * ms;

void run_control::wait(uint64_t until_ns) {
    const uint64_t now = now_ns();
    const uint64_t step = f.record ? ms : 10 * ms;
    const uint64_t left = until_ns > now ? until_ns - now : 0;
    const timespec time = {0, static_cast<long>(std::min(left, step))};
    pollfd p = {control, POLLIN, 0};
    if (ppoll(&p, 1, &time, nullptr) > 0) read_commands();
    if (f.record) recorder_drain(f.record);
    if (f.trace) f.trace->drain();
    poll_links();
    poll_peer();
    poll_parts();
    look_at_pauses();
    beat();
}

void run_control::read_commands() {
    char bytes[64];
    const ssize_t n = read(control, bytes, sizeof bytes);
    if (n == 0) {
        ordered = end_reason::parent_lost;
        control = -1;  // ppoll ignores it from now on
    }
    if (n <= 0) return;
    command.append(bytes, static_cast<size_t>(n));
    for (size_t end; (end = command.find('\n')) != std::string::npos; command.erase(0, end + 1))
        follow(std::string_view(command).substr(0, end));
}

void run_control::follow(std::string_view order) {
    constexpr std::string_view extend = "extend ";
    if (order.starts_with(extend)) {
        uint64_t windows = 0;
        std::from_chars(order.data() + extend.size(), order.data() + order.size(), windows);
        extended_ns += windows * f.plan.phases.window_ns;
        f.lines.phase("not settled: " + std::to_string(windows) + " more windows");
        return;
    }
    window_read |= order == "read";
    client_finished |= order == "finished";
    if (!ordered && (order == "finished" || order == "stop")) ordered = end_reason::stopped;
}

// A peer that has finished closes its end as it likes.
void run_control::poll_links() {
    if (when_lost == link_loss::is_booked && now_ns() >= next_look) look_at_links();
    if (when_lost == link_loss::ends_run && !ordered && !peer.finished() && !all_links_up())
        ordered = end_reason::peer_lost;
}

void run_control::look_at_links() {
    if (when_lost != link_loss::is_booked) return;
    const uint64_t now = now_ns();
    for (endpoint &e : f.endpoints) {
        const bool down = e.port->operations->link(*e.port) == link_state::down;
        // when it fell or came up is not known: at the most it was down since the last look
        if (down || e.link_is_down) e.link_down_ns += now - last_look;
        if (down != e.link_is_down)
            f.lines.phase(std::string("running, ") +
                          (down ? "though the link of the " : "and the link of the ") +
                          side_names[static_cast<int>(e.plan->side)] + (down ? " is down" : " is up again"));
        e.link_is_down = down;
    }
    last_look = now;
    next_look = now + look_every_ns;
}

bool run_control::all_links_up() const {
    return std::ranges::none_of(f.ports,
                                [](const port &p) { return p.operations->link(p) == link_state::down; });
}

void run_control::poll_peer() {
    peer.poll();
    client_finished |= peer.finished();
    if (!ordered && !measured) ordered = peer.end();
}

void run_control::poll_parts() {
    if (ordered || measured) return;
    part_reason = ask_parts(&part::end_reason, f);
    if (part_reason) ordered = end_reason::by_part;
}

void run_control::look_at_pauses() {
    if (now_ns() < next_pause_look) return;
    next_pause_look = now_ns() + pause_look_every_ns;
    for (size_t i = 0; i < f.workers.size(); i++)
        if (const auto now = schedstat_of(f.workers[i].tid.load(std::memory_order_relaxed)))
            f.pauses[i].look(now->preempted_ns);
}

void run_control::beat() {
    if (now_ns() < next_beat) return;
    next_beat = now_ns() + std::max(beat_ns, f.plan.phases.window_ns / beats_per_window);
    f.signals.beat.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace wt
