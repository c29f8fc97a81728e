// The session with the other host of a run, as main follows it: the hello before the first window, the
// session state during the run, the end.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "control/handshake.h"
#include "plan/plan.h"
#include "report/lines.h"

namespace wt {

enum class end_reason { duration, messages, stopped, parent_lost, peer_lost, peer_stopped, by_part };

class peer_session {
  public:
    // Dispatchers hold `g`, which must outlive them. Null: the peer is not another host's engine.
    peer_session(handshake *g, const plan &p, line_writer &lines) : g_(g), plan_(p), lines_(lines) {}

    bool active() const { return g_ != nullptr; }
    bool established() const { return active() && peer_has(session_state::go); }
    bool drains() const { return active() && peer_has(session_state::drain); }
    bool finished() const { return active() && peer_has(session_state::finished); }
    bool lost() const { return lost_; }
    // Client: whether every hello that it sent has its response. A hello that was lost never has.
    bool all_responded() const {
        return g_->received.load(std::memory_order_relaxed) >= g_->sent.load(std::memory_order_relaxed);
    }

    // After begin(), main calls poll() whenever it waits. poll() repeats the hello and follows the responses.
    // While the measurement can still be spoilt, it throws refusal if the other side is not the peer that we
    // need.
    void begin();
    void poll();
    // Announces that we still wait for `what`; throws refusal at the end of the plan's waiting time.
    void wait_for(const char *what);

    // How the other side's state, or its silence, ends our measurement.
    std::optional<end_reason> end() const;

    // Client: goes on to the next session state. `early`: it was stopped before its end.
    void enter(session_state s, bool early);
    // Our measurement is over. A client tells the server; a server tells the client only if it was stopped
    // early.
    void end_measurement(bool early);

    json peer_line() const;

  private:
    bool is_client() const { return plan_.endpoints[0].side == side::client; }
    bool peer_has(session_state s) const {
        return g_->peer_state.load(std::memory_order_acquire) >= static_cast<uint8_t>(s);
    }
    void check_refused_hello();
    std::string refusal_text() const;
    void poll_client(uint64_t now);
    void begin_again();
    void poll_server();

    handshake *g_;
    const plan &plan_;
    line_writer &lines_;
    bool begun_ = false, measured_ = false, lost_ = false;
    bool fell_silent_ = false;  // client: a server responded, and did not go on
    uint32_t received_before_ = 0;
    uint64_t last_poll_ = 0, silent_ns_ = 0;            // ns; the silence without pauses of this host
    uint64_t first_response_ = 0, next_round_ = 0;      // ns
    uint64_t waits_since_ = 0, next_announcement_ = 0;  // ns
    uint64_t announced_client_ = 0;  // token of the last client whose refusal was announced
    int announced_ = 0;
    std::string waits_for_, last_refusal_;
};

// Null if the plan has no other host.
std::unique_ptr<handshake> open_handshake(const plan &p);

}  // namespace wt
