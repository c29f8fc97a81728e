// The session with the other host as main follows it: when hellos are sent, and what ends a run. The times
// are those of the engine, by a clock that the test steps.
#include "run/peer_session.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/refusal.h"
#include "valid_plan.h"

namespace wt::test::peer_session_test {
namespace {

constexpr uint64_t ms = 1'000'000;

nlohmann::ordered_json one_side(const char *side) {
    nlohmann::ordered_json p = test::valid_plan();
    p["hello_wait_ns"] = 1000 * ms;
    p["endpoints"] = nlohmann::ordered_json::array({test::valid_endpoint(side)});
    p["variants"] = nullptr;  // they are of both sides
    p["endpoints"][0]["port"]["wire"] = "af_packet";
    p["workers"].erase(1);
    p["probe_pairs"] = nlohmann::ordered_json::array();
    p["workers"][0]["stages"] = {{{"endpoint", 0}, {"stage", "nic_rx"}, {"index", 0}}};
    return p;
}

struct host {
    plan p;
    std::unique_ptr<handshake> g = open_handshake(p);
    int fd = memfd_create("lines", 0);
    tsc_clock clock = clock_start(1e9);  // a tick is a nanosecond
    uint64_t time = now();
    line_writer lines{fd};
    peer_session other{g.get(), p, lines};

    explicit host(const char *side) : p(read_plan(one_side(side).dump())) {
        lines.set_clock(clock);
        other.begin();
    }
    ~host() { close(fd); }

    // Polls each millisecond for so long; returns in how many rounds the client sends hellos.
    uint32_t rounds_in(uint64_t ns) {
        const uint32_t before = g->round;
        for (uint64_t passed = 0; passed < ns; passed += ms) pass(ms);
        return g->round - before;
    }
    // Time without a poll, and then one.
    void pass(uint64_t ns) {
        time += ns;
        hold_clock(now() - time);
        other.poll();
    }
    // A hello of the other side arrives.
    void receive(session_state w) {
        g->peer = 7;
        g->peer_state = static_cast<uint8_t>(w);
        g->received++;
    }
    void refuse(session_status why, uint64_t client = 7) {
        g->refused = g->us;
        g->refused.client = client;
        g->refused.status = why;
        g->refused_slot = handshake::slot::full;
    }
    std::vector<std::string> written() const {
        std::ifstream file("/proc/self/fd/" + std::to_string(fd));
        std::vector<std::string> lines;
        for (std::string line; std::getline(file, line);) lines.push_back(line);
        return lines;
    }
};

TEST(PeerSession, HellosRepeatAndRepeatFasterWithoutResponses) {
    host client("client");
    client.receive(session_state::go);
    client.g->state = session_state::go;
    client.other.poll();
    const uint32_t at_first = client.rounds_in(900 * ms), then = client.rounds_in(1900 * ms);
    EXPECT_TRUE(at_first == 8 || at_first == 9) << at_first;
    // an overloaded link may lose nine of ten packets: thirty hellos would not suffice
    EXPECT_GE(then, 160u);
    EXPECT_LE(then, 190u);
    EXPECT_FALSE(client.other.lost());
    client.rounds_in(500 * ms);
    EXPECT_TRUE(client.other.lost());
}

TEST(PeerSession, WhoSendsAHelloIsNotSilent) {
    host client("client"), server("server");
    for (host *each : {&client, &server}) {
        each->g->state = session_state::go;
        for (int hello = 0; hello < 3; ++hello) {
            each->receive(session_state::go);
            each->rounds_in(2900 * ms);
            EXPECT_FALSE(each->other.lost());
        }
    }
}

TEST(PeerSession, APauseOfThisHostIsNoSilenceOfTheOther) {
    host client("client"), server("server");
    for (host *each : {&client, &server}) {
        each->g->state = session_state::go;
        each->receive(session_state::go);
        each->pass(ms);
        each->pass(10'000 * ms);
        EXPECT_FALSE(each->other.lost());
        each->rounds_in(3'000 * ms);
        EXPECT_TRUE(each->other.lost());
    }
}

TEST(PeerSession, AClientWhoseServerFallsSilentAfterTheHelloBeginsAgain) {
    host client("client");
    client.receive(session_state::hello);
    client.rounds_in(1000 * ms);
    EXPECT_EQ(client.g->state, session_state::go);
    EXPECT_NO_THROW(client.rounds_in(2500 * ms));
    EXPECT_EQ(client.g->state, session_state::hello);
    EXPECT_EQ(client.g->peer, 0u);
    EXPECT_GE(client.rounds_in(4000 * ms), 39u);
    client.receive(session_state::hello);
    client.rounds_in(200 * ms);
    EXPECT_EQ(client.g->state, session_state::hello) << "it looks for a second server again";
    client.rounds_in(800 * ms);
    EXPECT_EQ(client.g->state, session_state::go);
    try {
        client.other.wait_for("the server's hello");
        client.pass(1001 * ms);
        client.other.wait_for("the server's hello");
        ADD_FAILURE() << "it waits for ever";
    } catch (const refusal &refused) {
        EXPECT_NE(std::string(refused.what()).find("; one responded and fell silent"), std::string::npos);
    }
}

TEST(PeerSession, AHelloWithoutAResponseIsKnown) {
    host client("client");
    client.receive(session_state::finished);
    client.g->sent = 2;
    EXPECT_TRUE(client.other.finished());
    EXPECT_FALSE(client.other.all_responded());
    client.receive(session_state::finished);
    EXPECT_TRUE(client.other.all_responded());
}

TEST(PeerSession, ARefusalAfterTheMeasurementKeepsItsResult) {
    host client("client");
    client.receive(session_state::go);
    client.g->state = session_state::go;
    client.other.end_measurement(false);
    client.refuse(session_status::other_plan);
    client.g->second_server = true;
    EXPECT_NO_THROW(client.rounds_in(50 * ms));
}

TEST(PeerSession, ARefusalBeforeItsEndEndsTheRun) {
    host refused("client"), two("client");
    refused.refuse(session_status::other_plan);
    EXPECT_THROW(refused.other.poll(), refusal);
    two.g->second_server = true;
    EXPECT_THROW(two.other.poll(), refusal);
}

TEST(PeerSession, OfManyRefusedClientsTheFirstAreAnnounced) {
    host server("server");
    for (uint64_t client = 1; client <= 100; ++client) {
        server.refuse(session_status::busy, client);
        server.pass(ms);
        EXPECT_EQ(server.g->refused_slot.load(), handshake::slot::empty);
    }
    const auto lines = server.written();
    ASSERT_EQ(lines.size(), 16u);
    EXPECT_EQ(lines[14].find("further ones"), std::string::npos);
    EXPECT_NE(lines[15].find("further ones are not announced"), std::string::npos);
}

TEST(PeerSession, AServerReleasesASilentClient) {
    host server("server");
    server.receive(session_state::hello);
    server.rounds_in(1500 * ms);
    EXPECT_EQ(server.g->peer, 7u);
    server.rounds_in(1000 * ms);
    EXPECT_EQ(server.g->peer, 0u);
}

TEST(PeerSession, TheTimeBeforeAPeerIsNotItsSilence) {
    for (const char *const side : {"client", "server"}) {
        host h(side);
        h.rounds_in(5000 * ms);
        h.g->peer = 7;  // a worker notes the peer, its state, and then its hello
        h.g->peer_state = static_cast<uint8_t>(session_state::hello);
        h.pass(ms);
        EXPECT_EQ(h.g->peer, 7u) << side;
    }
}

}  // namespace
}  // namespace wt::test::peer_session_test
