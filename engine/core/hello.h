// Words between the two hosts of a flight, in band: who are you, and how far are we?
//
// The client says a word again and again, the server answers each one with the same; what is lost on the way is said again. A
// word is a datagram between queues' own ports: the message header with a kind of its own, then 80 bytes. What stands before
// the plan's hash stands there in every version, so that two engines of different versions can tell each other so.
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

// How far the client is. `go` is repeated through the whole flight: it says that the client is still there.
enum class word : uint8_t { none, hello, go, drain, landed };

// Beside a word. The server's: why it does not fly with this client. `cut_short`: whoever says it was stopped before its end.
enum class remark : uint8_t { none, other_version, other_plan, taken, cut_short, count };

constexpr bool is_refusal(remark r) { return r == remark::other_version || r == remark::other_plan || r == remark::taken; }

using engine_text = std::array<char, 16>;  // "0.1.0", filled up with zeros
using plan_digest = std::array<uint8_t, 32>;

struct hello {
    uint16_t version;
    bool from_server;
    word said;
    remark beside;
    engine_text engine;
    uint64_t client, server;  // random tokens of the two processes; the server's is 0 while the client does not know it
    plan_digest plan;
};

engine_text engine_text_of(std::string_view version);
std::string engine_version_of(const engine_text &text);

// The plan's hash as a frame carries it: hexadecimal digits as bytes, filled up with zeros.
plan_digest plan_digest_of(std::string_view hash);
// Its first digits, for people.
std::string short_hash(const plan_digest &plan);

// Whether a payload of at least message_header_bytes claims to be a word.
inline bool is_hello(const uint8_t *payload) {
    const auto kind = static_cast<message_kind>(payload[0]);
    return kind == message_kind::hello || kind == message_kind::hello_answer;
}

// Writes hello_bytes of UDP payload.
void hello_write(uint8_t *payload, const hello &h);

// Reads a UDP payload. False where it is no word that any version would say, or one of ours with a field that cannot be. Of
// another version's words only version, side, engine and tokens are read.
bool hello_read(const uint8_t *payload, uint32_t bytes, hello *out);

}  // namespace wt
