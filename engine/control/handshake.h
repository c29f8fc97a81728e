// What an endpoint and the other host know of each other.
//
// disp_rx responds to hellos and takes responses in, disp_tx sends hellos, main reads the state
// (run/peer_session.h).
#pragma once

#include <atomic>

#include "control/hello.h"
#include "core/drop.h"

namespace wt {

struct handshake {
    // fixed before the workers start
    hello us;                // what every hello of ours repeats
    plan_digest expected{};  // what every hello of the other side repeats

    // written where hellos are received
    std::atomic<uint64_t> peer{0};  // the other side's token; 0 while it is unknown
    // server: the client's session state; client: the latest state that the server has confirmed
    std::atomic<uint8_t> peer_state{0};
    std::atomic<bool> peer_stopped_early{false};  // the other side was stopped before its end
    std::atomic<uint32_t> received{0};            // hellos of the other side
    std::atomic<bool> second_server{false};       // client: another server has responded, too
    // one refused hello, which main reads and releases
    enum class slot : uint8_t { empty, in_writing, full };
    std::atomic<slot> refused_slot{slot::empty};
    hello refused{};

    // written where hellos are sent
    std::atomic<uint32_t> sent{0};  // client: hellos

    // written by main
    std::atomic<uint32_t> round{0};  // client: every disp_tx sends one hello a round
    std::atomic<session_state> state{session_state::hello};
    std::atomic<bool> stopped_early{false};
};

// Server: turns a client's hello into the response, in place. False: drop it for *why.
bool handshake_respond(handshake &g, hello *hello_and_response, drop *why);

// Client: takes in a server's response. False: drop it for *why.
bool handshake_take_response(handshake &g, const hello &response, drop *why);

// Client: the next hello to send.
hello handshake_hello(const handshake &g);

// Client: the server has confirmed that the run has finished. Nothing is left to say.
bool handshake_over(const handshake &g);

// Main: forgets a peer that has not passed the state `hello`, so that a server may take another client, and a
// client may begin again. A peer that passes it at this moment is either kept as it is, or its hello is
// dropped as stray.
void handshake_release(handshake &g);

}  // namespace wt
