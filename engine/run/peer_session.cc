#include "run/peer_session.h"

#include <algorithm>

#include "core/refusal.h"
#include "core/unguessable.h"

namespace wt {

namespace {

constexpr uint64_t ms = 1'000'000;
constexpr uint64_t again_ns = 100 * ms;
// After a second without a response hellos are sent more often: an overloaded link that carries a tenth of
// its load loses nine of ten packets, and sometimes thirty hellos in a row.
constexpr uint64_t worry_ns = 1'000 * ms, worried_again_ns = 10 * ms;
// How long a client repeats its first hello after the first response: a second server would respond, too.
constexpr uint64_t look_around_ns = 300 * ms;
// Two hundred hellos in a row are lost, or the peer is gone.
constexpr uint64_t silence_ns = 3'000 * ms;
// How long a client in the state `hello` may keep the server from another client.
constexpr uint64_t first_state_ns = 2'000 * ms;
// Well below the silence that the supervisor tolerates.
constexpr uint64_t announcement_ns = 20'000 * ms;
// Main polls more often. What passes beyond it between two polls is a pause of this host, in which nobody
// could have been heard.
constexpr uint64_t longest_poll_ns = 100 * ms;

// Anybody on the wire may send hellos with another token each, and each line stays in the run's record.
constexpr int most_announced = 16;

constexpr const char *one_release = "use one release of Windtunnel on both hosts";
constexpr const char *one_file = "run the same file with the same --set on both hosts";

std::string in_seconds(uint64_t ns) {
    char text[32];
    std::snprintf(text, sizeof text, "%g s", static_cast<double>(ns) / 1e9);
    return text;
}

std::string version_text(const hello &h) {
    return engine_version_of(h.engine) + " (hello version " + std::to_string(h.version) + ")";
}

}  // namespace

std::unique_ptr<handshake> open_handshake(const plan &p) {
    if (!p.hello_wait_ns) return nullptr;
    auto g = std::make_unique<handshake>();
    const bool is_server = p.endpoints[0].side == side::server;
    g->us = {.version = hello_version,
             .from_server = is_server,
             .state = session_state::none,
             .status = session_status::none,
             .engine = engine_text_of(WT_VERSION),
             .client = is_server ? 0 : unguessable() | 1,
             .server = is_server ? unguessable() | 1 : 0,
             .plan = plan_digest_of(p.hash, is_server)};
    g->expected = plan_digest_of(p.hash, !is_server);
    return g;
}

void peer_session::begin() {
    if (!active()) return;
    begun_ = true;
    last_poll_ = lines_.now_ns();
}

void peer_session::poll() {
    if (!begun_) return;
    if (!measured_) check_refused_hello();
    const uint64_t now = lines_.now_ns();
    silent_ns_ += std::min(now - last_poll_, longest_poll_ns);
    last_poll_ = now;
    const uint32_t hellos = g_->received.load(std::memory_order_relaxed);
    // A worker notes a new peer before it counts the hello: until then nobody is there who could be silent.
    if (hellos != received_before_ || g_->peer.load(std::memory_order_relaxed) == 0) silent_ns_ = 0;
    received_before_ = hellos;
    is_client() ? poll_client(now) : poll_server();
}

void peer_session::poll_client(uint64_t now) {
    if (now >= next_round_) {
        next_round_ = now + (established() && silent_ns_ > worry_ns ? worried_again_ns : again_ns);
        g_->round.fetch_add(1, std::memory_order_release);
    }
    if (!peer_has(session_state::hello)) return;
    if (first_response_ == 0) first_response_ = now;
    const bool in_first_state = g_->state.load(std::memory_order_relaxed) == session_state::hello;
    if (in_first_state && now > first_response_ + look_around_ns) enter(session_state::go, false);
    if (silent_ns_ < silence_ns) return;
    if (!established()) return begin_again();
    lost_ = true;
}

// The server may have released this client, or another one may have taken its place.
void peer_session::begin_again() {
    enter(session_state::hello, false);
    handshake_release(*g_);
    first_response_ = 0;
    fell_silent_ = true;
}

void peer_session::poll_server() {
    const bool known = g_->peer.load(std::memory_order_relaxed) != 0;
    if (known && !established() && silent_ns_ > first_state_ns) handshake_release(*g_);
    if (established() && !finished() && silent_ns_ > silence_ns) lost_ = true;
}

// A client ends with the reason. A server announces it and waits for another client.
void peer_session::check_refused_hello() {
    if (g_->second_server.load(std::memory_order_relaxed))
        throw refusal("two servers respond to this client's hello",
                      "stop one of them, or give each its own address");
    if (g_->refused_slot.load(std::memory_order_acquire) != handshake::slot::full) return;
    const std::string why_text = refusal_text();
    const session_status why = g_->refused.status;
    const bool news = g_->refused.client != announced_client_;
    announced_client_ = g_->refused.client;
    g_->refused_slot.store(handshake::slot::empty, std::memory_order_release);
    if (is_client())
        throw refusal(why_text, why == session_status::other_version ? one_release
                                : why == session_status::other_plan  ? one_file
                                                                     : "");
    last_refusal_ = why_text;
    if (!news || announced_ == most_announced) return;
    const bool is_last = ++announced_ == most_announced;
    lines_.phase("refused a hello: " + why_text + (is_last ? "; further ones are not announced" : ""));
}

std::string peer_session::refusal_text() const {
    const hello &h = g_->refused;
    const std::string who = is_client() ? "the server" : "the client";
    switch (h.status) {
        case session_status::other_version:
            return who + "'s engine is " + version_text(h) + ", this one " + version_text(g_->us);
        case session_status::other_plan:
            return who + " has another plan: " + short_hash(h.plan) + ", this side expects " +
                   short_hash(g_->expected);
        default:
            return is_client() ? "the server has another client already"
                               : "a second client connects while the first one runs";
    }
}

void peer_session::wait_for(const char *what) {
    if (!plan_.hello_wait_ns) return;
    const uint64_t now = lines_.now_ns();
    if (waits_for_ != what) {
        waits_for_ = what;
        waits_since_ = next_announcement_ = now;
    }
    if (now >= next_announcement_) {
        next_announcement_ = now + announcement_ns;
        lines_.phase(std::string("waiting for ") + what);
    }
    if (now < waits_since_ + *plan_.hello_wait_ns) return;
    const std::string within = " within " + in_seconds(*plan_.hello_wait_ns);
    const std::string refused = last_refusal_.empty() ? "" : "; one was refused: " + last_refusal_;
    const std::string silent = fell_silent_ ? "; one responded and fell silent: see its messages" : "";
    if (is_client())
        throw refusal(
            "no server responded to the hello" + within + silent,
            "start `windtunnel run --side server` with the same file on the other host; then check addresses "
            "and the wire");
    throw refusal("no client sent a hello" + within + refused,
                  "start `windtunnel run --side client` with the same file on the other host; then check "
                  "addresses and the "
                  "wire");
}

std::optional<end_reason> peer_session::end() const {
    if (!active()) return std::nullopt;
    if (g_->peer_stopped_early.load(std::memory_order_relaxed)) return end_reason::peer_stopped;
    if (drains() && !is_client()) return plan_.phases.messages ? end_reason::messages : end_reason::duration;
    if (lost_) return end_reason::peer_lost;
    return std::nullopt;
}

void peer_session::enter(session_state s, bool early) {
    if (early) g_->stopped_early.store(true, std::memory_order_relaxed);
    g_->state.store(s, std::memory_order_relaxed);
    next_round_ = 0;
}

void peer_session::end_measurement(bool early) {
    if (!active()) return;
    measured_ = true;
    if (is_client()) return enter(session_state::drain, early);
    if (early) g_->stopped_early.store(true, std::memory_order_relaxed);
}

json peer_session::peer_line() const {
    char token[33];
    const uint64_t peer = g_->peer.load(std::memory_order_relaxed);
    const uint64_t client = is_client() ? g_->us.client : peer, server = is_client() ? peer : g_->us.server;
    std::snprintf(token, sizeof token, "%016llx%016llx", static_cast<unsigned long long>(client),
                  static_cast<unsigned long long>(server));
    return {{"type", "peer"}, {"at_ns", lines_.now_ns()}, {"session", token}};
}

}  // namespace wt
