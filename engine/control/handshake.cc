#include "control/handshake.h"

namespace wt {

namespace {

// Why we refuse a session with the sender; `none` if we do not.
session_status objection(const handshake &g, const hello &received) {
    if (received.version != g.us.version || received.engine != g.us.engine)
        return session_status::other_version;
    return received.plan != g.expected ? session_status::other_plan : session_status::none;
}

// Keeps a refused hello for main: the first one, until main has read it.
void keep_refused(handshake &g, const hello &received, session_status why) {
    auto empty = handshake::slot::empty;
    if (!g.refused_slot.compare_exchange_strong(empty, handshake::slot::in_writing)) return;
    g.refused = received;
    g.refused.status = why;
    g.refused_slot.store(handshake::slot::full, std::memory_order_release);
}

// Notes the sender's session state. False: it is a later state of a peer that main has just released; the
// first state must be `hello`.
bool note_state(handshake &g, const hello &received) {
    auto before = g.peer_state.load(std::memory_order_relaxed);
    const auto now = static_cast<uint8_t>(received.state);
    do {
        if (before == 0 && received.state != session_state::hello) return false;
    } while (before < now && !g.peer_state.compare_exchange_weak(before, now, std::memory_order_release));
    if (received.status == session_status::stopped_early)
        g.peer_stopped_early.store(true, std::memory_order_relaxed);
    g.received.fetch_add(1, std::memory_order_relaxed);
    return true;
}

// Whether this is the peer; the first one that asks becomes it.
bool is_peer(handshake &g, uint64_t token) {
    uint64_t known = 0;
    return g.peer.compare_exchange_strong(known, token) || known == token;
}

}  // namespace

bool handshake_respond(handshake &g, hello *hello_and_response, drop *why) {
    hello &h = *hello_and_response;
    *why = drop::stray_hello;
    if (h.from_server) return false;
    session_status status = objection(g, h);
    if (status == session_status::none) {
        const bool is_first = h.state == session_state::hello;
        if (!is_first && (h.server != g.us.server || h.client != g.peer.load(std::memory_order_relaxed)))
            return false;
        if (is_first && !is_peer(g, h.client)) status = session_status::busy;
    }
    if (status == session_status::none) {
        if (!note_state(g, h)) return false;
        if (g.stopped_early.load(std::memory_order_relaxed)) status = session_status::stopped_early;
    } else {
        keep_refused(g, h, status);
    }
    const uint64_t client = h.client;
    const session_state confirmed = h.state == session_state::none ? session_state::hello : h.state;
    h = g.us;
    h.state = confirmed;
    h.status = status;
    h.client = client;
    if (status == session_status::other_version || status == session_status::other_plan)
        h.plan = shown_digest(h.plan);  // whoever asks is told no more than a user
    return true;
}

bool handshake_take_response(handshake &g, const hello &response, drop *why) {
    *why = drop::stray_hello;
    if (!response.from_server || response.client != g.us.client) return false;
    if (const session_status ours = objection(g, response); ours != session_status::none)
        return keep_refused(g, response, ours), true;
    if (is_refusal(response.status)) return keep_refused(g, response, response.status), true;
    if (!is_peer(g, response.server)) return g.second_server.store(true, std::memory_order_relaxed), true;
    return note_state(g, response);
}

hello handshake_hello(const handshake &g) {
    hello h = g.us;
    h.state = g.state.load(std::memory_order_relaxed);
    h.server = g.peer.load(std::memory_order_relaxed);
    if (g.stopped_early.load(std::memory_order_relaxed)) h.status = session_status::stopped_early;
    return h;
}

bool handshake_over(const handshake &g) {
    return g.peer_state.load(std::memory_order_acquire) >= static_cast<uint8_t>(session_state::finished);
}

void handshake_release(handshake &g) {
    auto only_hello = static_cast<uint8_t>(session_state::hello);
    if (!g.peer_state.compare_exchange_strong(only_hello, 0)) return;
    g.peer_stopped_early.store(false, std::memory_order_relaxed);
    g.peer.store(0, std::memory_order_release);
}

}  // namespace wt
