// Words between two hosts: what goes out comes in, what nobody would say is not read, and who answers whom.
#include "core/hello.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/greeter.h"

namespace wt {
namespace {

constexpr uint64_t client_token = 0x1122334455667788, server_token = 0x99aabbccddeeff00;

hello example(bool from_server = false, word said = word::hello) {
    return {.version = hello_version,
            .from_server = from_server,
            .said = said,
            .beside = remark::none,
            .engine = engine_text_of("0.1.0"),
            .client = client_token,
            .server = from_server ? server_token : 0,
            .plan = plan_digest_of("0f1e2d3c4b5a")};
}

std::vector<uint8_t> written(const hello &h) {
    std::vector<uint8_t> payload(hello_bytes);
    hello_write(payload.data(), h);
    return payload;
}

bool is_read(const std::vector<uint8_t> &payload) {
    hello h;
    return hello_read(payload.data(), static_cast<uint32_t>(payload.size()), &h);
}

TEST(Hello, IsReadAsItWasWritten) {
    for (const bool from_server : {false, true}) {
        hello sent = example(from_server, word::drain), read;
        sent.beside = remark::cut_short;
        const std::vector<uint8_t> payload = written(sent);
        ASSERT_TRUE(is_hello(payload.data()));
        ASSERT_TRUE(hello_read(payload.data(), hello_bytes, &read));
        EXPECT_EQ(read.from_server, from_server);
        EXPECT_EQ(read.said, word::drain);
        EXPECT_EQ(read.beside, remark::cut_short);
        EXPECT_EQ(engine_version_of(read.engine), "0.1.0");
        EXPECT_EQ(read.client, client_token);
        EXPECT_EQ(read.server, from_server ? server_token : 0);
        EXPECT_EQ(read.plan, sent.plan);
        EXPECT_EQ(short_hash(read.plan), "0f1e2d3c4b5a");
    }
}

// The place of what every version has: an engine of another release reads it there.
TEST(Hello, KeepsItsStablePart) {
    const std::vector<uint8_t> payload = written(example());
    const uint8_t expected[] = {0x13, 0, 0, 0, 0,   0,   0,   0,   0,   0,   0, 0, 0, 0, 0, 1,  // message header
                                'W',  't', 'H', 'o', 0,   1,   0,   1,   0,   0, 0, 0, 0, 0, 0, 0,
                                '0',  '.', '1', '.', '0', 0,   0,   0,   0,   0, 0, 0, 0, 0, 0, 0,
                                0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0, 0, 0, 0, 0, 0, 0, 0};
    static_assert(sizeof expected == hello_stable_bytes);
    EXPECT_TRUE(std::equal(std::begin(expected), std::end(expected), payload.begin()));
}

TEST(Hello, WhatNobodyWouldSayIsNotRead) {
    const auto spoilt = [](size_t at, uint8_t value) {
        std::vector<uint8_t> payload = written(example());
        payload[at] = value;
        return is_read(payload);
    };
    EXPECT_TRUE(spoilt(0, 0x13));
    EXPECT_FALSE(spoilt(0, 0x11));   // a request
    EXPECT_FALSE(spoilt(0, 0x14));   // a server's kind with a client's body
    EXPECT_FALSE(spoilt(16, 'w'));   // magic
    EXPECT_FALSE(spoilt(22, 1));     // side
    EXPECT_FALSE(spoilt(23, 0));     // word
    EXPECT_FALSE(spoilt(23, 5));
    EXPECT_FALSE(spoilt(24, static_cast<uint8_t>(remark::count)));
    EXPECT_FALSE(spoilt(33, 0x1b));  // a terminal's escape in the version
    EXPECT_FALSE(spoilt(47, 'x'));   // text behind its end
    hello nobody = example();
    nobody.client = 0;
    EXPECT_FALSE(is_read(written(nobody)));
    hello nameless = example(true);
    nameless.server = 0;
    EXPECT_FALSE(is_read(written(nameless)));
    for (size_t bytes = message_header_bytes; bytes < hello_bytes + 3; bytes++) {
        std::vector<uint8_t> payload = written(example());
        payload.resize(bytes);
        EXPECT_EQ(is_read(payload), bytes == hello_bytes) << bytes;
    }
}

TEST(Hello, OfAnotherVersionOnlyTheStablePartIsRead) {
    hello other = example();
    other.version = 7;
    other.engine = engine_text_of("2.0.0");
    std::vector<uint8_t> payload = written(other);
    payload[23] = 99;  // a word that is not known here
    for (const size_t bytes : {size_t{hello_stable_bytes}, size_t{hello_bytes}, size_t{1000}}) {
        payload.resize(bytes);
        hello read;
        ASSERT_TRUE(hello_read(payload.data(), static_cast<uint32_t>(bytes), &read));
        EXPECT_EQ(read.version, 7);
        EXPECT_EQ(engine_version_of(read.engine), "2.0.0");
        EXPECT_EQ(read.client, client_token);
        EXPECT_EQ(read.said, word::none);
    }
    payload.resize(hello_stable_bytes - 1);
    EXPECT_FALSE(is_read(payload));
}

struct hosts : testing::Test {
    greeter client, server;
    drop why = drop::count;

    hosts() {
        client.us = example();
        client.us.said = word::none;
        server.us = example(true);
        server.us.said = word::none;
        server.us.client = 0;
    }
    // The server's answer to a word, which it must not drop.
    hello answer(hello said) {
        EXPECT_TRUE(greeter_answer(server, &said, &why));
        return said;
    }
    bool is_dropped(hello said) { return !greeter_answer(server, &said, &why) && why == drop::stray_hello; }
    hello next_word(word w) {
        client.saying = w;
        return greeter_word(client);
    }
    static word heard(const greeter &g) { return static_cast<word>(g.word_heard.load()); }
};

TEST_F(hosts, GoThroughAFlightTogether) {
    for (const word w : {word::hello, word::go, word::go, word::drain, word::landed}) {
        const hello said = next_word(w);
        ASSERT_TRUE(greeter_take(client, answer(said), &why));
        EXPECT_EQ(heard(server), w);
        EXPECT_EQ(heard(client), w);
    }
    EXPECT_EQ(server.peer, client_token);
    EXPECT_EQ(client.peer, server_token);
    EXPECT_EQ(server.heard, 5u);
    EXPECT_EQ(server.refused_slot, greeter::slot::empty);
    EXPECT_FALSE(client.peer_cut_short || server.peer_cut_short || client.second_server);
    answer(example());  // late: it does not go back
    EXPECT_EQ(heard(server), word::landed);
}

TEST_F(hosts, WhoIsStoppedSaysIt) {
    greeter_take(client, answer(next_word(word::hello)), &why);
    server.cut_short = true;
    EXPECT_TRUE(greeter_take(client, answer(next_word(word::go)), &why));
    EXPECT_TRUE(client.peer_cut_short);
    client.cut_short = true;
    answer(next_word(word::drain));
    EXPECT_TRUE(server.peer_cut_short);
}

TEST_F(hosts, OfAnotherVersionOrPlanAreRefusedOnBothSides) {
    for (const bool version : {true, false}) {
        hello said = example();
        if (version)
            said.engine = engine_text_of("0.2.0");
        else
            said.plan[31] ^= 1;
        const remark expected = version ? remark::other_version : remark::other_plan;
        const hello told = answer(said);
        EXPECT_EQ(told.beside, expected);
        EXPECT_EQ(told.client, client_token);
        EXPECT_EQ(server.peer, 0u);
        ASSERT_EQ(server.refused_slot, greeter::slot::full);
        EXPECT_EQ(server.refused.beside, expected);
        EXPECT_EQ(server.refused.plan, said.plan);
        server.refused_slot = greeter::slot::empty;
        // and a client that sees the other's words for itself
        client.us.plan = said.plan;
        client.us.engine = said.engine;
        EXPECT_TRUE(greeter_take(client, told, &why));
        ASSERT_EQ(client.refused_slot, greeter::slot::full);
        EXPECT_EQ(client.refused.beside, expected);
        EXPECT_EQ(client.peer, 0u);
        client.refused_slot = greeter::slot::empty;
        client.us.plan = server.us.plan;
        client.us.engine = server.us.engine;
    }
}

TEST_F(hosts, ASecondClientIsToldUntilTheFirstIsReleased) {
    answer(next_word(word::hello));
    hello second = example();
    second.client = 42;
    EXPECT_EQ(answer(second).beside, remark::taken);
    EXPECT_EQ(server.peer, client_token);
    greeter_release(server);
    EXPECT_EQ(answer(second).beside, remark::none);
    EXPECT_EQ(server.peer, 42u);
    EXPECT_EQ(answer(next_word(word::hello)).beside, remark::taken);
}

TEST_F(hosts, AClientThatGoesOnIsNotReleased) {
    ASSERT_TRUE(greeter_take(client, answer(next_word(word::hello)), &why));
    answer(next_word(word::go));
    greeter_release(server);  // main has looked before the second word came
    EXPECT_EQ(server.peer, client_token);
    EXPECT_EQ(heard(server), word::go);
}

TEST_F(hosts, AWordThatMeetsItsReleaseIsStray) {
    ASSERT_TRUE(greeter_take(client, answer(next_word(word::hello)), &why));
    server.word_heard = 0;  // main is half way through
    EXPECT_TRUE(is_dropped(next_word(word::go)));
    EXPECT_EQ(heard(server), word::none);
}

TEST_F(hosts, ASecondServerIsSeen) {
    hello first = answer(next_word(word::hello)), second = first;
    second.server = 42;
    EXPECT_TRUE(greeter_take(client, first, &why));
    EXPECT_FALSE(client.second_server);
    EXPECT_TRUE(greeter_take(client, second, &why));
    EXPECT_TRUE(client.second_server);
    EXPECT_EQ(client.peer, server_token);
}

TEST_F(hosts, WordsOfAnotherSessionAreStray) {
    EXPECT_TRUE(is_dropped(example(true)));         // a server's word
    EXPECT_TRUE(is_dropped(next_word(word::go)));   // without a hello
    const hello told = answer(next_word(word::hello));
    EXPECT_TRUE(is_dropped(example(false, word::landed)));  // does not know our token
    ASSERT_TRUE(greeter_take(client, told, &why));
    hello foreign = next_word(word::landed);
    foreign.client = 42;
    EXPECT_TRUE(is_dropped(foreign));
    hello not_ours = told;
    not_ours.client = 42;
    EXPECT_FALSE(greeter_take(client, not_ours, &why));
    EXPECT_EQ(why, drop::stray_hello);
    EXPECT_FALSE(greeter_take(client, greeter_word(client), &why));  // our own word, sent back
    EXPECT_EQ(heard(server), word::hello);
}

}  // namespace
}  // namespace wt
