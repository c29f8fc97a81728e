// The open-loop client: its connections, however responses come, and what it counts.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "client/client_plan.h"
#include "client/connection.h"
#include "client/target.h"
#include "core/refusal.h"
#include "tests/responses.h"

namespace wt::client {
namespace {

// A connection, and the server's end of it.
struct pair {
    pair(protocol p, uint32_t inflight) : us(made(p, inflight)) {}
    ~pair() {
        if (server >= 0) ::close(server);
    }
    connection made(protocol p, uint32_t inflight) {
        int ends[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        server = ends[1];
        return connection(ends[0], p, inflight, 32);
    }
    void say(std::string_view text) {
        ASSERT_EQ(::send(server, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    }
    void hang_up() { ::close(std::exchange(server, -1)); }

    int server;
    connection us;
    std::vector<responses> got;
};

TEST(connection, responses_match_their_requests_byte_by_byte) {
    for (const protocol p : all) {
        pair c(p, 4);
        for (uint64_t i = 0; i < 3; i++) c.us.put({get, i, 0});
        c.us.flush();
        for (const char byte : hit(p) + hit(p) + hit(p)) {
            c.say({&byte, 1});
            c.us.read(c.got);
        }
        ASSERT_EQ(c.got.size(), 3u);
        for (uint64_t i = 0; i < 3; i++) {
            EXPECT_EQ(c.got[i].of.intended_ns, i);
            EXPECT_EQ(c.got[i].what, outcome::right);
        }
        EXPECT_TRUE(c.us.open());
    }
}

TEST(connection, has_room_for_the_in_flight_budget) {
    pair c(protocol::redis, 3);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 3; i++) {
            ASSERT_TRUE(c.us.has_room());
            c.us.put({get, 0, 0});
        }
        EXPECT_FALSE(c.us.has_room());
        c.us.flush();
        c.say(hit(protocol::redis) + hit(protocol::redis) + hit(protocol::redis));
        c.us.read(c.got);
        EXPECT_EQ(c.us.waiting(), 0u);
    }
    EXPECT_EQ(c.got.size(), 15u);
}

TEST(connection, a_reset_keeps_the_count_of_waiting_requests) {
    pair c(protocol::memcached, 4);
    c.us.put({get, 1, 0});
    c.us.put({get, 2, 0});
    c.us.flush();
    c.say(hit(protocol::memcached));
    c.hang_up();
    for (int i = 0; i < 3; i++) c.us.read(c.got);
    EXPECT_EQ(c.us.ended(), ending::closed);
    EXPECT_EQ(c.got.size(), 1u);
    std::vector<uint64_t> left;
    c.us.each_waiting([&](const pending &p) { left.push_back(p.intended_ns); });
    EXPECT_EQ(left, std::vector<uint64_t>{2});
}

TEST(connection, a_response_without_a_request_ends_it) {
    pair c(protocol::redis, 4);
    c.say("+OK\r\n");
    c.us.read(c.got);
    EXPECT_EQ(c.us.ended(), ending::malformed);
    EXPECT_TRUE(c.got.empty());
}

TEST(connection, an_endless_response_ends_it) {
    pair c(protocol::memcached, 4);
    c.us.put({get, 0, 0});
    c.us.flush();
    const std::string flood(4096, 'V');
    for (int i = 0; i < 64 && c.us.open(); i++) {
        c.say(flood);
        c.us.read(c.got);
    }
    EXPECT_EQ(c.us.ended(), ending::malformed);
}

TEST(connection, a_peer_that_does_not_read_does_not_block) {
    pair c(protocol::memcached, 65536);
    for (int i = 0; i < 65536; i++) c.us.put({{7, 32, true}, 0, 0});
    c.us.flush();
    c.us.flush();
    EXPECT_TRUE(c.us.open());
    EXPECT_EQ(c.us.waiting(), 65536u);
}

// A server on loopback that responds to every "get k..." correctly, until it has sent `most` responses: then
// it closes.
class server {
  public:
    explicit server(uint64_t most) : most_(most) {
        listening_ = ::socket(AF_INET, SOCK_STREAM, 0);
        address_.sin_family = AF_INET;
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address_;
        EXPECT_EQ(::bind(listening_, reinterpret_cast<sockaddr *>(&address_), size), 0);
        EXPECT_EQ(::listen(listening_, 8), 0);
        EXPECT_EQ(::getsockname(listening_, reinterpret_cast<sockaddr *>(&address_), &size), 0);
        thread_ = std::thread([this] { serve(); });
    }
    ~server() {
        thread_.join();
        ::close(listening_);
    }
    uint16_t port() const { return ntohs(address_.sin_port); }

  private:
    void serve() {
        const int peer = ::accept(listening_, nullptr, nullptr);
        std::string in;
        char room[4096];
        for (ssize_t n; most_ != 0 && (n = ::recv(peer, room, sizeof room, 0)) > 0;) {
            in.append(room, static_cast<size_t>(n));
            for (size_t end; most_ != 0 && (end = in.find("\r\n")) != in.npos; most_--) {
                const uint64_t key = std::stoull(in.substr(5, end - 5));
                const std::string a =
                    "VALUE k" + std::to_string(key) + " 0 32\r\n" + value_of(key, 32) + "\r\nEND\r\n";
                (void)!::send(peer, a.data(), a.size(), MSG_NOSIGNAL);
                in.erase(0, end + 2);
            }
        }
        ::close(peer);
    }

    uint64_t most_;
    int listening_;
    sockaddr_in address_{};
    std::thread thread_;
};

target_plan plan_for(uint16_t port) {
    return {
        "a",
        "127.0.0.1",
        protocol::memcached,
        port,
        1,
        64,
        100,
        32,
        100,
        false,
        1,
        {{"one", 10'000'000, 1e5, false}, {"two", 10'000'000, 0, false}, {"three", 10'000'000, 2e5, false}}};
}

// Goes through the target's phases on a clock of our own, a step of 100 us at a time.
void execute_run(target &t) {
    constexpr uint64_t begun = 1000, step = 100'000;
    t.start(begun);
    uint64_t now = begun, over = begun;
    for (const load_phase &p : t.plan().phases) over += p.duration_ns;
    for (int patience = 0; now < over || (t.waits() && patience < 2000); now += step) {
        t.send_due(now);
        t.receive(0, now);
        if (now >= over) {
            patience++;
            ::usleep(1000);
        }
    }
    t.count_as_lost();
}

void expect_closed(const counted &c) {
    EXPECT_EQ(c.offered, c.sent + c.unsent);
    EXPECT_EQ(c.sent, c.lost + c.responses[0] + c.responses[1] + c.responses[2] + c.responses[3]);
}

TEST(target, counts_every_request_in_its_intended_phase) {
    server s(UINT64_MAX);
    {
        target t(plan_for(s.port()), 10'000'000, 3);
        execute_run(t);
        const std::array<uint64_t, 3> offered{999, 0, 2000};
        for (size_t i = 0; i < 3; i++) {
            const phase_account &p = *t.phases()[i];
            EXPECT_NEAR(static_cast<double>(p.offered), static_cast<double>(offered[i]), 1) << i;
            EXPECT_EQ(p.offered, t.windows()[i].offered);
            EXPECT_EQ(p.responses[0], p.latency.total);
            EXPECT_EQ(p.responses[0], t.windows()[i].latency.total);
            EXPECT_EQ(p.responses[1] + p.responses[2] + p.responses[3] + p.lost, 0u);
            expect_closed(p);
        }
    }
}

TEST(target, requests_to_a_server_that_closes_are_lost) {
    server s(20);
    target t(plan_for(s.port()), 10'000'000, 3);
    execute_run(t);
    uint64_t responses = 0, lost = 0, unsent = 0;
    for (const auto &p : t.phases()) {
        expect_closed(*p);
        responses += p->responses[0];
        lost += p->lost;
        unsent += p->unsent;
    }
    EXPECT_LE(responses, 20u);
    EXPECT_GT(lost + unsent, 2000u);
    EXPECT_EQ(t.resets(), 1u);
}

TEST(target, a_refused_connection_is_reported) {
    const int free = ::socket(AF_INET, SOCK_STREAM, 0);  // bound, and not listened on
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(::bind(free, reinterpret_cast<sockaddr *>(&address), size), 0);
    ASSERT_EQ(::getsockname(free, reinterpret_cast<sockaddr *>(&address), &size), 0);
    EXPECT_THROW(target(plan_for(ntohs(address.sin_port)), 10'000'000, 3), refusal);
    ::close(free);
}

constexpr const char *good_plan =
    R"({"cpu": 1, "tenant_cpus": [0], "window_ns": 10000000, "patience_ns": 0, "targets": [{"name": "a", "address": "127.0.0.1",
        "protocol": "redis", "port": 6379, "connections": 2, "inflight": 8, "keys": 10, "value": 32, "get_percent": 90,
        "load_keys": true, "seed": 1, "phases": [{"name": "x", "duration_ns": 25000000, "per_s": 10, "poisson": true}]}]})";

std::string refusal_of(std::string plan, const std::string &what, const std::string &by) {
    plan.replace(plan.find(what), what.size(), by);
    try {
        read_client_plan(plan);
    } catch (const refusal &r) {
        return r.what();
    }
    return "";
}

TEST(client_plan, is_read) {
    const client_plan p = read_client_plan(good_plan);
    EXPECT_EQ(p.targets.at(0).dialect, protocol::redis);
    EXPECT_EQ(p.duration_ns(), 25'000'000u);
    EXPECT_EQ(p.windows(), 3u);
}

TEST(client_plan, is_refused_on_the_core_of_its_tenants) {
    EXPECT_NE(refusal_of(good_plan, "[0]", "[0, 1]").find("CPU 1, which its tenants use"), std::string::npos);
}

TEST(client_plan, refuses_invalid_values) {
    const std::array<std::pair<const char *, const char *>, 8> wrong{
        {{"6379", "0"},
         {"\"redis\"", "\"smtp\""},
         {"\"seed\": 1, ", ""},
         {"\"per_s\": 10", "\"per_s\": -1"},
         {"\"value\": 32", "\"value\": 99999999"},
         {"\"redis\"", "\"http\""},
         {"10000000", "1000"},
         {"\"name\": \"a\"", "\"name\": \"a\", \"x\": 1"}}};
    for (const auto &[what, by] : wrong) EXPECT_NE(refusal_of(good_plan, what, by), "") << by;
}

}  // namespace
}  // namespace wt::client
