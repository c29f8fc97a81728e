// The other host of a flight, as main deals with it: the hello before the first window, the word on the way, the end.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/greeter.h"
#include "plan/plan.h"
#include "report/lines.h"

namespace wt {

enum class end_reason { duration, messages, stopped, parent_lost, peer_lost, peer_stopped };

class meeting {
  public:
    // Dispatchers hold `g`, which must outlive them; null where the other side is ours or a stranger.
    meeting(greeter *g, const plan &p, line_writer &lines) : g_(g), plan_(p), lines_(lines) {}

    bool active() const { return g_ != nullptr; }
    bool met() const { return active() && heard(word::go); }
    bool drains() const { return active() && heard(word::drain); }
    bool landed() const { return active() && heard(word::landed); }
    bool lost() const { return lost_; }

    // From here on turn() is called whenever main waits. It says the word again and follows what comes back. Throws refusal
    // where the other side is not the one that we need, as long as that can spoil what is measured.
    void begin();
    void turn();
    // Announces that we still wait, and throws refusal where nobody came in time.
    void wait_for(const char *what);

    // How the other side's words or its silence end our measurement.
    std::optional<end_reason> end() const;

    // The client goes on to its next word; `early` says that it was stopped before its end.
    void say(word w, bool early);
    // Our measurement is over: the client says so; of a server the other side hears only where it came too early.
    void measured(bool early);

    json met_line() const;

  private:
    bool is_client() const { return plan_.endpoints[0].side == side::client; }
    bool heard(word w) const { return g_->word_heard.load(std::memory_order_acquire) >= static_cast<uint8_t>(w); }
    void look_for_strangers();
    std::string words_on_refused() const;
    void turn_client(uint64_t now);
    void turn_server(uint64_t now);

    greeter *g_;
    const plan &plan_;
    line_writer &lines_;
    bool begun_ = false, measured_ = false, lost_ = false;
    uint32_t heard_before_ = 0;
    uint64_t last_heard_ = 0, first_answer_ = 0, next_round_ = 0;  // ns
    uint64_t waits_since_ = 0, next_announcement_ = 0;             // ns
    uint64_t told_of_ = 0;                                         // token of the last client whose refusal was announced
    std::string waits_for_, last_refusal_;
};

// What a plan without another host leaves null.
std::unique_ptr<greeter> open_greeter(const plan &p);

}  // namespace wt
