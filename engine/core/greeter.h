// What an endpoint and the other host know of each other: answered and taken in by disp_rx, said by disp_tx, read by main.
#pragma once

#include <atomic>

#include "core/drop.h"
#include "core/hello.h"

namespace wt {

struct greeter {
    hello us;  // what every word of ours repeats; fixed before the workers start

    // written where words come in
    std::atomic<uint64_t> peer{0};            // the other side's token, 0 while it is not known
    std::atomic<uint8_t> word_heard{0};       // server: how far its client is; client: the furthest word that was answered
    std::atomic<bool> peer_cut_short{false};  // the other side was stopped before its end
    std::atomic<uint32_t> heard{0};           // words of the other side so far
    std::atomic<bool> second_server{false};   // client: another server answers too
    // one hello that came to nothing, for main to read and to release
    enum class slot : uint8_t { empty, in_writing, full };
    std::atomic<slot> refused_slot{slot::empty};
    hello refused{};

    // written by main
    std::atomic<uint32_t> round{0};  // client: every disp_tx says the word once a round
    std::atomic<word> saying{word::hello};
    std::atomic<bool> cut_short{false};
};

// Server: the answer to a client's word, in place. False: it is to be dropped for *why.
bool greeter_answer(greeter &g, hello *word_and_answer, drop *why);

// Client: takes in a server's answer. False: it is to be dropped for *why.
bool greeter_take(greeter &g, const hello &answer, drop *why);

// Client: the word that goes out next.
hello greeter_word(const greeter &g);

// Main, server: forgets a client that has said hello and no more, so that another one may come. One that goes on at this very
// moment is kept, or its word comes too late; never is a client half known.
void greeter_release(greeter &g);

}  // namespace wt
