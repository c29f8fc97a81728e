// The hello between two hosts: it is read as it was written, malformed ones are rejected, and each side
// responds as it should.
#include "control/hello.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "control/handshake.h"

namespace wt::test::hello_test {
namespace {

const std::string hash = "0f1e2d3c4b5a69788796a5b4c3d2e1f0" + std::string(32, 'd');
constexpr uint64_t client_token = 0x1122334455667788, server_token = 0x99aabbccddeeff00;

hello example(bool from_server = false, session_state state = session_state::hello) {
    return {.version = hello_version,
            .from_server = from_server,
            .state = state,
            .status = session_status::none,
            .engine = engine_text_of("0.1.0"),
            .client = client_token,
            .server = from_server ? server_token : 0,
            .plan = plan_digest_of(hash, from_server)};
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
        hello sent = example(from_server, session_state::drain), read;
        sent.status = session_status::stopped_early;
        const std::vector<uint8_t> payload = written(sent);
        ASSERT_TRUE(is_hello(payload.data()));
        ASSERT_TRUE(hello_read(payload.data(), hello_bytes, &read));
        EXPECT_EQ(read.from_server, from_server);
        EXPECT_EQ(read.state, session_state::drain);
        EXPECT_EQ(read.status, session_status::stopped_early);
        EXPECT_EQ(engine_version_of(read.engine), "0.1.0");
        EXPECT_EQ(read.client, client_token);
        EXPECT_EQ(read.server, from_server ? server_token : 0);
        EXPECT_EQ(read.plan, sent.plan);
        EXPECT_EQ(short_hash(read.plan), from_server ? "dddddddddddd" : "0f1e2d3c4b5a");
    }
}

// The fields that every version has stay at their offsets: an engine of another release reads them there.
TEST(Hello, StablePartHasAFixedLayout) {
    const std::vector<uint8_t> payload = written(example());
    // message header
    const uint8_t expected[] = {0x13, 0,    0,    0,    0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 1,
                                'W',  't',  'H',  'o',  0,    1,    0,    1,    0, 0, 0, 0, 0, 0, 0, 0,
                                '0',  '.',  '1',  '.',  '0',  0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0,
                                0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0, 0, 0, 0, 0, 0, 0, 0};
    static_assert(sizeof expected == hello_stable_bytes);
    EXPECT_TRUE(std::equal(std::begin(expected), std::end(expected), payload.begin()));
}

TEST(Hello, MalformedHellosAreRejected) {
    const auto spoilt = [](size_t at, uint8_t value) {
        std::vector<uint8_t> payload = written(example());
        payload[at] = value;
        return is_read(payload);
    };
    EXPECT_TRUE(spoilt(0, 0x13));
    EXPECT_FALSE(spoilt(0, 0x11));  // a request
    EXPECT_FALSE(spoilt(0, 0x14));  // a server's kind with a client's body
    EXPECT_FALSE(spoilt(16, 'w'));  // magic
    EXPECT_FALSE(spoilt(22, 1));    // side
    EXPECT_FALSE(spoilt(23, 0));    // state
    EXPECT_FALSE(spoilt(23, 5));
    EXPECT_FALSE(spoilt(24, static_cast<uint8_t>(session_status::count)));
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
    payload[23] = 99;  // a state that this version does not know
    for (const size_t bytes : {size_t{hello_stable_bytes}, size_t{hello_bytes}, size_t{1000}}) {
        payload.resize(bytes);
        hello read;
        ASSERT_TRUE(hello_read(payload.data(), static_cast<uint32_t>(bytes), &read));
        EXPECT_EQ(read.version, 7);
        EXPECT_EQ(engine_version_of(read.engine), "2.0.0");
        EXPECT_EQ(read.client, client_token);
        EXPECT_EQ(read.state, session_state::none);
    }
    payload.resize(hello_stable_bytes - 1);
    EXPECT_FALSE(is_read(payload));
}

struct hosts : testing::Test {
    handshake client, server;
    drop why = drop::count;

    hosts() {
        client.us = example();
        client.us.state = session_state::none;
        server.us = example(true);
        server.us.state = session_state::none;
        server.us.client = 0;
        client.expected = server.us.plan;
        server.expected = client.us.plan;
    }
    // The server's response to a hello, which it must not drop.
    hello response(hello h) {
        EXPECT_TRUE(handshake_respond(server, &h, &why));
        return h;
    }
    bool is_dropped(hello h) { return !handshake_respond(server, &h, &why) && why == drop::stray_hello; }
    hello next_hello(session_state s) {
        client.state = s;
        return handshake_hello(client);
    }
    static session_state peer_state(const handshake &g) {
        return static_cast<session_state>(g.peer_state.load());
    }
};

TEST_F(hosts, CompleteARunTogether) {
    for (const session_state s : {session_state::hello, session_state::go, session_state::go,
                                  session_state::drain, session_state::finished}) {
        const hello h = next_hello(s);
        ASSERT_TRUE(handshake_take_response(client, response(h), &why));
        EXPECT_EQ(peer_state(server), s);
        EXPECT_EQ(peer_state(client), s);
    }
    EXPECT_EQ(server.peer, client_token);
    EXPECT_EQ(client.peer, server_token);
    EXPECT_EQ(server.received, 5u);
    EXPECT_EQ(server.refused_slot, handshake::slot::empty);
    EXPECT_FALSE(client.peer_stopped_early || server.peer_stopped_early || client.second_server);
    response(example());  // late: it does not go back
    EXPECT_EQ(peer_state(server), session_state::finished);
}

TEST_F(hosts, AStopIsReportedToThePeer) {
    handshake_take_response(client, response(next_hello(session_state::hello)), &why);
    server.stopped_early = true;
    EXPECT_TRUE(handshake_take_response(client, response(next_hello(session_state::go)), &why));
    EXPECT_TRUE(client.peer_stopped_early);
    client.stopped_early = true;
    response(next_hello(session_state::drain));
    EXPECT_TRUE(server.peer_stopped_early);
}

TEST_F(hosts, OfAnotherVersionOrPlanAreRefusedOnBothSides) {
    for (const bool version : {true, false}) {
        hello other = example();
        if (version)
            other.engine = engine_text_of("0.2.0");
        else
            other.plan[15] ^= 1;
        const session_status expected = version ? session_status::other_version : session_status::other_plan;
        const hello refused = response(other);
        EXPECT_EQ(refused.status, expected);
        EXPECT_EQ(refused.client, client_token);
        EXPECT_EQ(refused.plan, shown_digest(server.us.plan)) << "nobody else learns it";
        EXPECT_EQ(server.peer, 0u);
        ASSERT_EQ(server.refused_slot, handshake::slot::full);
        EXPECT_EQ(server.refused.status, expected);
        EXPECT_EQ(server.refused.plan, other.plan);
        server.refused_slot = handshake::slot::empty;
        // and by a client that checks the response itself
        client.us.engine = other.engine;
        EXPECT_TRUE(handshake_take_response(client, refused, &why));
        ASSERT_EQ(client.refused_slot, handshake::slot::full);
        EXPECT_EQ(client.refused.status, expected);
        EXPECT_EQ(client.peer, 0u);
        client.refused_slot = handshake::slot::empty;
        client.us.engine = server.us.engine;
    }
}

// As who is at the server's address before it, and returns what it hears.
TEST_F(hosts, WhoHasHeardOneSideCannotPassForTheOther) {
    hello echoed = response(next_hello(session_state::hello));
    echoed.plan = client.us.plan;
    EXPECT_TRUE(handshake_take_response(client, echoed, &why));
    EXPECT_EQ(client.refused.status, session_status::other_plan);
    EXPECT_EQ(client.peer, 0u);
    hello repeated = next_hello(session_state::hello);
    repeated.plan = server.us.plan;
    EXPECT_EQ(response(repeated).status, session_status::other_plan);
}

TEST_F(hosts, ASecondClientIsRefusedUntilTheFirstIsReleased) {
    response(next_hello(session_state::hello));
    hello second = example();
    second.client = 42;
    EXPECT_EQ(response(second).status, session_status::busy);
    EXPECT_EQ(server.peer, client_token);
    handshake_release(server);
    EXPECT_EQ(response(second).status, session_status::none);
    EXPECT_EQ(server.peer, 42u);
    EXPECT_EQ(response(next_hello(session_state::hello)).status, session_status::busy);
}

TEST_F(hosts, AClientPastItsFirstStateIsNotReleased) {
    ASSERT_TRUE(handshake_take_response(client, response(next_hello(session_state::hello)), &why));
    response(next_hello(session_state::go));
    handshake_release(server);  // main looked before the second hello came
    EXPECT_EQ(server.peer, client_token);
    EXPECT_EQ(peer_state(server), session_state::go);
}

TEST_F(hosts, AHelloDuringItsReleaseIsStray) {
    ASSERT_TRUE(handshake_take_response(client, response(next_hello(session_state::hello)), &why));
    server.peer_state = 0;  // main is in the middle of the release
    EXPECT_TRUE(is_dropped(next_hello(session_state::go)));
    EXPECT_EQ(peer_state(server), session_state::none);
}

TEST_F(hosts, AClientBeginsAgainWithTheServerThatReleasedIt) {
    ASSERT_TRUE(handshake_take_response(client, response(next_hello(session_state::hello)), &why));
    handshake_release(server);
    EXPECT_TRUE(is_dropped(next_hello(session_state::go)));
    handshake_release(client);
    EXPECT_EQ(client.peer, 0u);
    ASSERT_TRUE(handshake_take_response(client, response(next_hello(session_state::hello)), &why));
    ASSERT_TRUE(handshake_take_response(client, response(next_hello(session_state::go)), &why));
    EXPECT_EQ(peer_state(server), session_state::go);
    EXPECT_EQ(peer_state(client), session_state::go);
}

TEST_F(hosts, AResponseDuringTheClientsReleaseIsStray) {
    ASSERT_TRUE(handshake_take_response(client, response(next_hello(session_state::hello)), &why));
    const hello confirmed = response(next_hello(session_state::go));
    client.peer_state = 0;  // main is in the middle of the release
    EXPECT_FALSE(handshake_take_response(client, confirmed, &why));
    EXPECT_EQ(peer_state(client), session_state::none);
}

TEST_F(hosts, ASecondServerIsDetected) {
    hello first = response(next_hello(session_state::hello)), second = first;
    second.server = 42;
    EXPECT_TRUE(handshake_take_response(client, first, &why));
    EXPECT_FALSE(client.second_server);
    EXPECT_TRUE(handshake_take_response(client, second, &why));
    EXPECT_TRUE(client.second_server);
    EXPECT_EQ(client.peer, server_token);
}

TEST_F(hosts, HellosOfAnotherSessionAreStray) {
    EXPECT_TRUE(is_dropped(example(true)));                  // of a server
    EXPECT_TRUE(is_dropped(next_hello(session_state::go)));  // without a first hello
    const hello refused = response(next_hello(session_state::hello));
    EXPECT_TRUE(is_dropped(example(false, session_state::finished)));  // does not know our token
    ASSERT_TRUE(handshake_take_response(client, refused, &why));
    hello foreign = next_hello(session_state::finished);
    foreign.client = 42;
    EXPECT_TRUE(is_dropped(foreign));
    hello not_ours = refused;
    not_ours.client = 42;
    EXPECT_FALSE(handshake_take_response(client, not_ours, &why));
    EXPECT_EQ(why, drop::stray_hello);
    EXPECT_FALSE(handshake_take_response(client, handshake_hello(client), &why));  // our own hello, sent back
    EXPECT_EQ(peer_state(server), session_state::hello);
}

}  // namespace
}  // namespace wt::test::hello_test
