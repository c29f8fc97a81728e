// The requests of the open-loop client, and how it reads the responses.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/responses.h"

namespace wt::client {
namespace {

TEST(dialect, writes_requests_of_the_protocol) {
    std::string out;
    ask(protocol::memcached, get, out);
    EXPECT_EQ(out, "get k7\r\n");
    out.clear();
    ask(protocol::memcached, set, out);
    EXPECT_EQ(out, "set k7 0 0 32\r\n" + value_of(7, 32) + "\r\n");
    out.clear();
    ask(protocol::redis, set, out);
    EXPECT_EQ(out, "*3\r\n$3\r\nSET\r\n$2\r\nk7\r\n$32\r\n" + value_of(7, 32) + "\r\n");
    out.clear();
    ask(protocol::http, get, out);
    EXPECT_EQ(out, "GET /k7 HTTP/1.1\r\nHost: windtunnel\r\n\r\n");
}

TEST(dialect, values_are_checked_by_key_and_every_byte) {
    std::string value = value_of(7, 45);
    EXPECT_TRUE(is_value(7, value));
    EXPECT_FALSE(is_value(8, value));
    for (char &byte : value) {
        byte ^= 1;
        EXPECT_FALSE(is_value(7, value));
        byte ^= 1;
    }
}

TEST(dialect, a_response_is_complete_at_its_last_byte_and_not_before) {
    for (const protocol p : all) {
        const std::string text = hit(p) + "next";
        for (size_t n = 0; n < text.size(); n++) {
            const response a = read_response(p, get, std::string_view(text).substr(0, n));
            if (n < hit(p).size()) {
                EXPECT_EQ(a.state, response::incomplete) << n;
            } else {
                EXPECT_EQ(a.state, response::whole);
                EXPECT_EQ(a.length, hit(p).size());
                EXPECT_EQ(a.what, outcome::right);
            }
        }
    }
}

struct said {
    protocol by;
    question asked;
    std::string text;
    outcome what;
};

TEST(dialect, classifies_a_response) {
    const std::string other = value_of(8, 32);
    const std::vector<said> cases{
        {protocol::memcached, get, "END\r\n", outcome::missing},
        {protocol::memcached, set, "STORED\r\n", outcome::right},
        {protocol::memcached, get, "STORED\r\n", outcome::wrong},
        {protocol::memcached, set, "END\r\n", outcome::wrong},
        {protocol::memcached, set, "SERVER_ERROR out of memory\r\n", outcome::refused},
        {protocol::memcached, get, "VALUE k7 0 32\r\n" + other + "\r\nEND\r\n", outcome::wrong},
        {protocol::memcached, get, "VALUE k8 0 32\r\n" + value_of(7, 32) + "\r\nEND\r\n", outcome::wrong},
        {protocol::memcached, get, "VALUE k7 0 3\r\nabc\r\nEND\r\n", outcome::wrong},
        {protocol::redis, get, "$-1\r\n", outcome::missing},
        {protocol::redis, set, "+OK\r\n", outcome::right},
        {protocol::redis, get, "+OK\r\n", outcome::wrong},
        {protocol::redis, get, "-OOM command not allowed\r\n", outcome::refused},
        {protocol::redis, get, "$32\r\n" + other + "\r\n", outcome::wrong},
        {protocol::http, get, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", outcome::missing},
        {protocol::http, get, "HTTP/1.1 503 No\r\ncontent-length: 2\r\n\r\nno", outcome::refused},
        {protocol::http, get, "HTTP/1.1 200 OK\r\ncontent-length: 32\r\n\r\n" + other, outcome::wrong},
    };
    for (const said &s : cases) {
        const response a = read_response(s.by, s.asked, s.text);
        EXPECT_EQ(a.state, response::whole) << s.text;
        EXPECT_EQ(a.what, s.what) << s.text;
        EXPECT_EQ(a.length, s.text.size()) << s.text;
    }
}

TEST(dialect, hostile_responses_are_refused) {
    const std::string endless(longest_head, 'x');
    const std::vector<std::pair<protocol, std::string>> cases{
        {protocol::memcached, endless},
        {protocol::memcached, "VALUE k7 0 18446744073709551615\r\n"},
        {protocol::memcached, "VALUE k7 0 -1\r\n"},
        {protocol::memcached, "VALUE k7\r\n"},
        {protocol::memcached, "VALUE k7 0 32\r\n" + value_of(7, 32) + "\r\nEMD\r\n"},
        {protocol::memcached, "\r\n"},
        {protocol::redis, "\r\n"},
        {protocol::redis, "$99999999999999999999\r\n"},
        {protocol::redis, "*1\r\n"},
        {protocol::redis, endless},
        {protocol::http, "HTTP/1.1 200 OK\r\n\r\n"},
        {protocol::http, "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n"},
        {protocol::http, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"},
        {protocol::http, "HTTP/1.1 2x0 OK\r\ncontent-length: 0\r\n\r\n"},
        {protocol::http, "SSH-2.0-OpenSSH_9.2p1 Debian\r\n\r\n"},
        {protocol::http, endless},
    };
    for (const auto &[p, text] : cases)
        EXPECT_EQ(read_response(p, get, text).state, response::malformed) << text.substr(0, 60);
}

}  // namespace
}  // namespace wt::client
