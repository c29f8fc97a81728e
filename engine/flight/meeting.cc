#include "flight/meeting.h"

#include <random>

#include "core/refusal.h"

namespace wt {

namespace {

constexpr uint64_t ms = 1'000'000;
constexpr uint64_t again_ns = 100 * ms;
// Where nothing has come back for a second, words are said as often as main comes by: a link that is asked for ten times what it
// carries loses nine of ten packets, and thirty words in a row now and then.
constexpr uint64_t worry_ns = 1'000 * ms, worried_again_ns = 10 * ms;
// So long a client goes on with its hello after the first answer: another server would answer too.
constexpr uint64_t look_around_ns = 300 * ms;
// Two hundred words in a row are lost, or nobody is there any more.
constexpr uint64_t silence_ns = 3'000 * ms;
// A client that has said hello and no more holds its server no longer than this.
constexpr uint64_t hesitation_ns = 2'000 * ms;
// Well below the silence that the supervisor allows.
constexpr uint64_t announcement_ns = 20'000 * ms;

constexpr const char *one_release = "use one release of Windtunnel on both hosts";
constexpr const char *one_file = "fly the same file with the same --set on both hosts";

uint64_t random_token() {
    std::random_device device;
    uint64_t token = 0;
    while (token == 0) token = uint64_t{device()} << 32 | device();
    return token;
}

std::string in_seconds(uint64_t ns) {
    char text[32];
    std::snprintf(text, sizeof text, "%g s", static_cast<double>(ns) / 1e9);
    return text;
}

std::string version_words(const hello &h) {
    return engine_version_of(h.engine) + " (hello version " + std::to_string(h.version) + ")";
}

}  // namespace

std::unique_ptr<greeter> open_greeter(const plan &p) {
    if (!p.hello_wait_ns) return nullptr;
    auto g = std::make_unique<greeter>();
    const bool is_server = p.endpoints[0].side == side::server;
    g->us = {.version = hello_version,
             .from_server = is_server,
             .said = word::none,
             .beside = remark::none,
             .engine = engine_text_of(WT_VERSION),
             .client = is_server ? 0 : random_token(),
             .server = is_server ? random_token() : 0,
             .plan = plan_digest_of(p.hash)};
    return g;
}

void meeting::begin() {
    if (!active()) return;
    begun_ = true;
    last_heard_ = lines_.now_ns();
}

void meeting::turn() {
    if (!begun_) return;
    if (!measured_) look_for_strangers();
    const uint64_t now = lines_.now_ns();
    if (const uint32_t words = g_->heard.load(std::memory_order_relaxed); words != heard_before_) {
        heard_before_ = words;
        last_heard_ = now;
    }
    is_client() ? turn_client(now) : turn_server(now);
}

void meeting::turn_client(uint64_t now) {
    if (now >= next_round_) {
        next_round_ = now + (met() && now > last_heard_ + worry_ns ? worried_again_ns : again_ns);
        g_->round.fetch_add(1, std::memory_order_release);
    }
    if (!heard(word::hello)) return;
    if (first_answer_ == 0) first_answer_ = now;
    const bool hesitates = g_->saying.load(std::memory_order_relaxed) == word::hello;
    if (hesitates && now > first_answer_ + look_around_ns) say(word::go, false);
    if (now < last_heard_ + silence_ns) return;
    if (!met()) throw refusal("the server answered the hello and then no more", "look at the server's own words");
    lost_ = true;
}

void meeting::turn_server(uint64_t now) {
    const bool known = g_->peer.load(std::memory_order_relaxed) != 0;
    if (!known) last_heard_ = now;
    if (known && !met() && now > last_heard_ + hesitation_ns) greeter_release(*g_);
    if (met() && !landed() && now > last_heard_ + silence_ns) lost_ = true;
}

// A client ends with the reason; a server says it and waits for one that fits.
void meeting::look_for_strangers() {
    if (g_->second_server.load(std::memory_order_relaxed))
        throw refusal("two servers answer this client's hello", "end one of them, or give each an address of its own");
    if (g_->refused_slot.load(std::memory_order_acquire) != greeter::slot::full) return;
    const std::string words = words_on_refused();
    const remark why = g_->refused.beside;
    const bool news = g_->refused.client != told_of_;
    told_of_ = g_->refused.client;
    g_->refused_slot.store(greeter::slot::empty, std::memory_order_release);
    if (is_client()) throw refusal(words, why == remark::other_version ? one_release : why == remark::other_plan ? one_file : "");
    last_refusal_ = words;
    if (news) lines_.phase("refused a hello: " + words);
}

std::string meeting::words_on_refused() const {
    const hello &h = g_->refused;
    const std::string who = is_client() ? "the server" : "the client";
    switch (h.beside) {
        case remark::other_version:
            return who + "'s engine is " + version_words(h) + ", this one " + version_words(g_->us);
        case remark::other_plan:
            return who + " flies another plan: " + short_hash(h.plan) + ", here it is " + short_hash(g_->us.plan);
        default:
            return is_client() ? "the server has another client already" : "a second client, while the first one flies";
    }
}

void meeting::wait_for(const char *what) {
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
    const std::string patience = " within " + in_seconds(*plan_.hello_wait_ns);
    const std::string refused = last_refusal_.empty() ? "" : "; one was refused: " + last_refusal_;
    if (is_client())
        throw refusal("no server answered the hello" + patience,
                      "windtunnel run --side server, with the same file, on the other host; then addresses and the wire");
    throw refusal("no client came with its hello" + patience + refused,
                  "windtunnel run --side client, with the same file, on the other host; then addresses and the wire");
}

std::optional<end_reason> meeting::end() const {
    if (!active()) return std::nullopt;
    if (g_->peer_cut_short.load(std::memory_order_relaxed)) return end_reason::peer_stopped;
    if (drains() && !is_client()) return plan_.phases.messages ? end_reason::messages : end_reason::duration;
    if (lost_) return end_reason::peer_lost;
    return std::nullopt;
}

void meeting::say(word w, bool early) {
    if (early) g_->cut_short.store(true, std::memory_order_relaxed);
    g_->saying.store(w, std::memory_order_relaxed);
    next_round_ = 0;
}

void meeting::measured(bool early) {
    if (!active()) return;
    measured_ = true;
    if (is_client()) return say(word::drain, early);
    if (early) g_->cut_short.store(true, std::memory_order_relaxed);
}

json meeting::met_line() const {
    char token[33];
    const uint64_t peer = g_->peer.load(std::memory_order_relaxed);
    const uint64_t client = is_client() ? g_->us.client : peer, server = is_client() ? peer : g_->us.server;
    std::snprintf(token, sizeof token, "%016llx%016llx", static_cast<unsigned long long>(client),
                  static_cast<unsigned long long>(server));
    return {{"type", "met"}, {"at_ns", lines_.now_ns()}, {"session", token}};
}

}  // namespace wt
