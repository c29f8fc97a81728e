// Main's control of a run: what main waits for and looks after while the workers run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "run/peer_session.h"
#include "run/run.h"
#include "run/turns.h"

namespace wt {

constexpr uint64_t ms = 1'000'000;  // in ns

// What the loss of a link does to a run. A NIC's may come back; a process that is gone does not.
enum class link_loss : uint8_t { is_ignored, is_booked, ends_run };

struct run_control {
    run_state &f;
    int control;  // the supervisor's pipe; -1 once it is closed
    turns turn;
    std::optional<end_reason>
        ordered;  // an end before its time, by the supervisor or by the loss of a process
    const char *part_reason = nullptr;  // with end_reason::by_part, as a part has said it
    bool client_finished = false;       // server: its client needs no more responses
    link_loss when_lost = link_loss::is_ignored;
    bool measured = false;  // the peer no longer influences the measurement
    peer_session peer{f.handshake.get(), f.plan, f.lines};
    uint64_t next_beat = 0, next_probe = 0, next_look = 0, next_pause_look = 0;
    uint64_t last_look = 0;    // at the links
    std::string command;       // the supervisor's, up to its newline
    bool window_read = true;   // by the supervisor: the last one, if there was one
    uint64_t extended_ns = 0;  // by which the measurement is longer than its duration
    uint64_t settled_ns = 0;   // of the measurement, in which changes of variants settled

    uint64_t now_ns() const { return f.lines.now_ns(); }

    // Whether the end came before the measurement was complete.
    bool early() const {
        return ordered && *ordered != end_reason::duration && *ordered != end_reason::messages;
    }

    // run_control.cc

    // Waits for one step, at most until `until_ns`, and does main's periodic work: the supervisor's commands,
    // the recorder, the trace, links, the peer session, the workers' beat.
    void wait(uint64_t until_ns);
    bool all_links_up() const;
    // Books the time in which a link was down since the last look. A window ends with a look.
    void look_at_links();

    // windows.cc

    // Waits for this run's turn, if it alternates with another run, and ends a hold. An ordered end does not
    // wait.
    void take_turn();
    // Parks every worker; run time stands still until the turn is taken again.
    void hold();
    // Closes the window: every worker switches to the other set of counters, then the previous set is
    // written.
    void next_window(const char *phase);
    // Runs one phase, a window at a time. False: it was cut short. Windows of "measure" have the variants of
    // the plan, in its order; those of other variants than the first are "variant".
    bool run_phase(const char *name, uint64_t length_ns, std::optional<uint64_t> messages);

    // drain.cc

    // Stops new messages and waits for the responses to those in flight, until the drain's time is over or an
    // end is ordered. A server whose client is another process responds until its client has finished.
    void drain(bool peer_is_another_process, bool is_client);
    // Tells the other host that the client has finished, or waits to be told.
    void end_session(bool is_client);
    // Keeps the port open until the other process has closed its own.
    void hold_port();

  private:
    void read_commands();
    void follow(std::string_view order);
    void poll_links();
    void poll_peer();
    void poll_parts();
    void look_at_pauses();
    void beat();
    bool ask_for_probe(uint32_t epoch);
    bool settle_into(uint32_t variant);
    void await_reader();
    template <typename Condition>
    void await_worker(const worker &w, uint64_t step_ns, Condition holds);
    void await_switch(const worker &w, uint32_t epoch);
    void end_loops();
    uint64_t responses() const;
    bool in_flight() const;
};

}  // namespace wt
