#include "core/greeter.h"

namespace wt {

namespace {

// What stands between a word and us, if anything does.
remark objection(const greeter &g, const hello &said) {
    if (said.version != g.us.version || said.engine != g.us.engine) return remark::other_version;
    return said.plan != g.us.plan ? remark::other_plan : remark::none;
}

// Keeps a hello for main to tell of; the first one, until main has read it.
void keep_refused(greeter &g, const hello &said, remark why) {
    auto empty = greeter::slot::empty;
    if (!g.refused_slot.compare_exchange_strong(empty, greeter::slot::in_writing)) return;
    g.refused = said;
    g.refused.beside = why;
    g.refused_slot.store(greeter::slot::full, std::memory_order_release);
}

// Only a hello comes first. False for another word of a client that main has just released.
bool note_word(greeter &g, const hello &said) {
    auto before = g.word_heard.load(std::memory_order_relaxed);
    const auto now = static_cast<uint8_t>(said.said);
    const bool is_first = said.from_server || said.said == word::hello;
    do {
        if (before == 0 && !is_first) return false;
    } while (before < now && !g.word_heard.compare_exchange_weak(before, now, std::memory_order_release));
    if (said.beside == remark::cut_short) g.peer_cut_short.store(true, std::memory_order_relaxed);
    g.heard.fetch_add(1, std::memory_order_relaxed);
    return true;
}

// Whether the other side is the one that we know, or becomes it.
bool is_peer(greeter &g, uint64_t token) {
    uint64_t known = 0;
    return g.peer.compare_exchange_strong(known, token) || known == token;
}

}  // namespace

bool greeter_answer(greeter &g, hello *word_and_answer, drop *why) {
    hello &said = *word_and_answer;
    *why = drop::stray_hello;
    if (said.from_server) return false;
    remark beside = objection(g, said);
    if (beside == remark::none) {
        const bool hello = said.said == word::hello;
        if (!hello && (said.server != g.us.server || said.client != g.peer.load(std::memory_order_relaxed))) return false;
        if (hello && !is_peer(g, said.client)) beside = remark::taken;
    }
    if (beside == remark::none) {
        if (!note_word(g, said)) return false;
        if (g.cut_short.load(std::memory_order_relaxed)) beside = remark::cut_short;
    } else {
        keep_refused(g, said, beside);
    }
    const auto [client, answered] = std::pair{said.client, said.said == word::none ? word::hello : said.said};
    said = g.us;
    said.said = answered;
    said.beside = beside;
    said.client = client;
    return true;
}

bool greeter_take(greeter &g, const hello &answer, drop *why) {
    *why = drop::stray_hello;
    if (!answer.from_server || answer.client != g.us.client) return false;
    if (const remark ours = objection(g, answer); ours != remark::none) return keep_refused(g, answer, ours), true;
    if (is_refusal(answer.beside)) return keep_refused(g, answer, answer.beside), true;
    if (!is_peer(g, answer.server)) return g.second_server.store(true, std::memory_order_relaxed), true;
    note_word(g, answer);
    return true;
}

hello greeter_word(const greeter &g) {
    hello h = g.us;
    h.said = g.saying.load(std::memory_order_relaxed);
    h.server = g.peer.load(std::memory_order_relaxed);
    if (g.cut_short.load(std::memory_order_relaxed)) h.beside = remark::cut_short;
    return h;
}

void greeter_release(greeter &g) {
    auto only_hello = static_cast<uint8_t>(word::hello);
    if (!g.word_heard.compare_exchange_strong(only_hello, 0)) return;
    g.peer_cut_short.store(false, std::memory_order_relaxed);
    g.peer.store(0, std::memory_order_release);
}

}  // namespace wt
