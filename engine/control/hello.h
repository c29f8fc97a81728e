// The hello: the in-band datagram by which the two hosts of a run agree on a session and follow its state.
//
// The client repeats its hello with its session state. The server sends each one back as a response, so a
// lost hello needs no other repetition. A hello is a UDP datagram between the queues' own ports: the message
// header with a kind of its own, then 80 bytes. The fields before the plan's hash are the same in every
// version, so that two engines of different versions can recognise each other.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/message.h"

namespace wt {

constexpr uint16_t hello_version = 1;
constexpr uint32_t hello_bytes = message_header_bytes + 80;         // of UDP payload
constexpr uint32_t hello_stable_bytes = message_header_bytes + 48;  // of any version, at least

// The client's progress. It repeats `go` through the whole run, as a sign of life.
enum class session_state : uint8_t { none, hello, go, drain, finished };

// Why the server refuses this client; or `stopped_early`: the sender was stopped before its end.
enum class session_status : uint8_t { none, other_version, other_plan, busy, stopped_early, count };

constexpr bool is_refusal(session_status s) {
    return s == session_status::other_version || s == session_status::other_plan || s == session_status::busy;
}

using engine_text = std::array<char, 16>;  // "0.1.0", padded with zeros
// A half of the plan's hash: a client says the first one, a server the second, so that who has heard one side
// cannot pass for the other one.
using plan_digest = std::array<uint8_t, 16>;

struct hello {
    uint16_t version;
    bool from_server;
    session_state state;
    session_status status;
    engine_text engine;
    // random tokens of the two processes; the server's is 0 while the client does not know it
    uint64_t client, server;
    plan_digest plan;
};

engine_text engine_text_of(std::string_view version);
std::string engine_version_of(const engine_text &text);

// A side's half of the hash's hexadecimal digits, as in a frame: bytes, padded with zeros.
plan_digest plan_digest_of(std::string_view hash, bool of_server);
// Its first digits, for messages.
std::string short_hash(const plan_digest &plan);
// What of it messages show, and zeros.
plan_digest shown_digest(const plan_digest &plan);

// Whether a payload of at least message_header_bytes claims to be a hello.
inline bool is_hello(const uint8_t *payload) {
    const auto kind = static_cast<message_kind>(payload[0]);
    return kind == message_kind::hello || kind == message_kind::hello_response;
}

// Writes hello_bytes of UDP payload.
void hello_write(uint8_t *payload, const hello &h);

// Reads a UDP payload. False if it is a malformed hello, or one of our version with an invalid field. Of
// another version only version, side, engine and tokens are read.
bool hello_read(const uint8_t *payload, uint32_t bytes, hello *out);

}  // namespace wt
