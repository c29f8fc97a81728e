// The other host as main deals with it: when words are said, and what ends a flight. Time runs a few times as fast as it does.
#include "flight/meeting.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/refusal.h"
#include "valid_plan.h"

namespace wt {
namespace {

constexpr uint64_t ms = 1'000'000;

nlohmann::json one_side(const char *side) {
    nlohmann::json p = test::valid_plan();
    p["hello_wait_ns"] = 1000 * ms;
    p["endpoints"] = nlohmann::json::array({test::valid_endpoint(side)});
    p["endpoints"][0]["port"]["kind"] = "af_packet";
    p["workers"].erase(1);
    p["workers"][0]["stages"] = {{{"endpoint", 0}, {"stage", "nic_rx"}, {"index", 0}}};
    return p;
}

struct host {
    plan p;
    std::unique_ptr<greeter> g = open_greeter(p);
    int fd = memfd_create("lines", 0);
    tsc_clock clock = clock_start(1e9);
    line_writer lines{fd};
    meeting other{g.get(), p, lines};

    explicit host(const char *side) : p(read_plan(one_side(side).dump())) {
        lines.set_clock(clock);
        other.begin();
    }
    ~host() { close(fd); }

    // Main goes round and round for so long; returns how often the client has spoken.
    uint32_t rounds_in(uint64_t ns) {
        const uint32_t before = g->round;
        for (const uint64_t end = lines.now_ns() + ns; lines.now_ns() < end;) other.turn();
        return g->round - before;
    }
    // A word of the other side has come in.
    void hear(word w) {
        g->peer = 7;
        g->word_heard = static_cast<uint8_t>(w);
        g->heard++;
    }
    void refuse(remark why) {
        g->refused = g->us;
        g->refused.client = 7;
        g->refused.beside = why;
        g->refused_slot = greeter::slot::full;
    }
};

TEST(Meeting, WordsAreSaidAgainAndAgainAndFasterWhereNobodyAnswers) {
    host client("client");
    client.hear(word::go);
    client.g->saying = word::go;
    client.other.turn();
    const uint32_t at_first = client.rounds_in(900 * ms), then = client.rounds_in(1900 * ms);
    EXPECT_GE(at_first, 5u);
    EXPECT_LE(at_first, 10u);
    // nine of ten packets are lost where a link is asked for ten times what it carries: thirty words are not enough there
    EXPECT_GE(then, 100u);
    EXPECT_LE(then, 190u);
    EXPECT_FALSE(client.other.lost());
    client.rounds_in(500 * ms);
    EXPECT_TRUE(client.other.lost());
}

TEST(Meeting, WhatIsMeasuredIsNotSpoiltByWhoSpeaksUpLater) {
    host client("client");
    client.hear(word::go);
    client.g->saying = word::go;
    client.other.measured(false);
    client.refuse(remark::other_plan);
    client.g->second_server = true;
    EXPECT_NO_THROW(client.rounds_in(50 * ms));
}

TEST(Meeting, BeforeThatItEndsTheFlight) {
    host refused("client"), two("client");
    refused.refuse(remark::other_plan);
    EXPECT_THROW(refused.other.turn(), refusal);
    two.g->second_server = true;
    EXPECT_THROW(two.other.turn(), refusal);
}

TEST(Meeting, AServerLetsGoOfAClientThatSaysNoMore) {
    host server("server");
    server.hear(word::hello);
    server.rounds_in(1500 * ms);
    EXPECT_EQ(server.g->peer, 7u);
    server.rounds_in(1000 * ms);
    EXPECT_EQ(server.g->peer, 0u);
}

}  // namespace
}  // namespace wt
