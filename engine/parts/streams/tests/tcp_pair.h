// Two TCP connections back to back, on a wire in memory and a clock that a test sets.
//
// Every byte that arrives is compared with the one at its position of the stream, and no packet empties a
// send buffer of which that was not said before.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <vector>

#include "core/random.h"
#include "parts/streams/tcp.h"

namespace wt::test {

using packet = std::vector<uint8_t>;

inline uint32_t number_at(const packet &p, size_t offset) {
    uint32_t number;
    std::memcpy(&number, p.data() + offset, sizeof number);
    return __builtin_bswap32(number);
}
enum : size_t { source_ip = 12, source_port = 20, sequence = 24, acknowledgement = 28, flags = 33 };
enum : uint8_t { fin = 1, syn = 2, rst = 4 };

// The bytes of every stream: a period that no buffer's size divides, twice.
constexpr uint64_t period = 65521;
inline const uint8_t *stream_bytes(uint64_t position) {
    static const std::vector<uint8_t> bytes = [] {
        std::vector<uint8_t> made(2 * period);
        uint64_t seed = 1;
        for (uint64_t i = 0; i < period; i++)
            made[i] = made[i + period] = static_cast<uint8_t>(random_next(&seed));
        return made;
    }();
    return bytes.data() + position % period;
}

struct tcp_end {
    std::vector<uint8_t> sends, receives;
    tcp_settings settings;
    tcp_connection *c;
    uint64_t written = 0, read = 0, wrong = 0;

    explicit tcp_end(tcp_settings s) : sends(s.send_bytes), receives(s.receive_bytes), settings(s) {
        settings.send_buffer = sends.data();
        settings.receive_buffer = receives.data();
        c = wt_tcp_open(&settings);
    }
    ~tcp_end() { wt_tcp_free(c); }
    tcp_end(const tcp_end &) = delete;
    tcp_end &operator=(const tcp_end &) = delete;

    tcp_state state() const { return wt_tcp_state_of(c); }
    tcp_counters counters() const {
        tcp_counters counted;
        wt_tcp_read_counters(c, &counted);
        return counted;
    }
    uint64_t unacknowledged() const { return wt_tcp_unacknowledged(c); }

    // Writes until the stream has `upto` bytes or the buffer is full.
    void write(uint64_t upto) {
        while (written < upto && unacknowledged() < sends.size()) {
            uint8_t *const at = wt_tcp_send_at(c);
            if (at == nullptr) return;
            const auto left = static_cast<uint64_t>(sends.data() + sends.size() - at);
            const uint64_t bytes = std::min({upto - written, sends.size() - unacknowledged(), left, period});
            std::memcpy(at, stream_bytes(written), bytes);
            ASSERT_TRUE(wt_tcp_commit(c, at, bytes)) << written;
            written += bytes;
        }
    }

    void read_all(uint64_t most = UINT64_MAX) {
        const uint8_t *at;
        for (uint64_t bytes; most > 0 && (bytes = wt_tcp_received(c, &at)) > 0; most -= bytes) {
            bytes = std::min({bytes, most, period});
            wrong += std::memcmp(at, stream_bytes(read), bytes) != 0;
            wt_tcp_consume(c, bytes);
            read += bytes;
        }
    }

    packet make(int64_t now) {
        packet made(settings.mtu);
        made.resize(wt_tcp_make_packet(c, now, made.data(), nullptr));
        return made;
    }
    packet take(int64_t now, const packet &p) {
        packet reply(settings.mtu);
        const bool said = wt_tcp_would_empty(c, p.data(), static_cast<uint32_t>(p.size()));
        const bool writes = state() == tcp_state::open || state() == tcp_state::peer_finished;
        const uint64_t before = unacknowledged();
        reply.resize(wt_tcp_take_packet(c, now, p.data(), static_cast<uint32_t>(p.size()), reply.data()));
        EXPECT_TRUE(said || !writes || before == 0 || unacknowledged() > 0)
            << "a packet empties the buffer unforeseen";
        return reply;
    }
};

inline tcp_settings settings_of(uint32_t ip, uint32_t peer_ip) {
    return {.ip = ip,
            .peer_ip = peer_ip,
            .port = static_cast<uint16_t>(peer_ip ? 1000 : 2000),
            .peer_port = static_cast<uint16_t>(peer_ip ? 2000 : 0),
            .mtu = 1500,
            .checksums = true,
            .congestion = tcp_congestion::none,
            .seed = 7 + ip,
            .send_buffer = nullptr,
            .receive_buffer = nullptr,
            .send_bytes = 100'000,
            .receive_bytes = 100'000};
}

constexpr uint32_t client_ip = 0x0a000001, server_ip = 0x0a000002;

struct tcp_pair {
    tcp_end client, server;
    int64_t now = 1'000'000;
    std::deque<packet> to_client, to_server;
    // What becomes of a packet on its way: how many of it arrive.
    std::function<int(const packet &, bool to_server)> wire = [](const packet &, bool) { return 1; };
    bool server_reads = true;

    static tcp_pair changed(const std::function<void(tcp_settings &)> &change) {
        tcp_settings c = settings_of(client_ip, server_ip), s = settings_of(server_ip, 0);
        change(c), change(s);
        return {c, s};
    }
    tcp_pair(const tcp_settings &c, const tcp_settings &s) : client(c), server(s) {}
    tcp_pair() : tcp_pair(settings_of(client_ip, server_ip), settings_of(server_ip, 0)) {}

    void send(const packet &p, bool towards_server) {
        for (int i = p.empty() ? 0 : wire(p, towards_server); i > 0; i--)
            (towards_server ? to_server : to_client).push_back(p);
    }
    // All packets that both have, and those that are on their way. Returns how many that were.
    size_t round() {
        size_t count = 0;
        for (tcp_end *end : {&client, &server})
            for (packet p; !(p = end->make(now)).empty(); count++) send(p, end == &client);
        for (bool towards_server : {true, false}) {
            std::deque<packet> arriving;
            arriving.swap(towards_server ? to_server : to_client);
            count += arriving.size();
            for (const packet &p : arriving)
                send((towards_server ? server : client).take(now, p), !towards_server);
        }
        if (server_reads) server.read_all();
        client.read_all();
        return count;
    }
    // Rounds until nothing moves. The clock goes on a little with each.
    void settle() {
        while (round() > 0) now += 10;
    }
    void connect() {
        wt_tcp_connect(client.c);
        settle();
    }
    // Sends so many bytes from each end, however long that takes on the clock.
    void transfer(uint64_t from_client, uint64_t from_server = 0) {
        for (int quiet = 0; quiet < 100'000;) {
            client.write(from_client), server.write(from_server);
            const bool moved = round() > 0;
            now += moved ? 10 : 10'000;
            quiet = moved ? 0 : quiet + 1;
            if (server.read == from_client && client.read == from_server && client.unacknowledged() == 0 &&
                server.unacknowledged() == 0)
                return;
        }
        ADD_FAILURE() << "stuck at " << server.read << " and " << client.read;
    }
    void expect_all(uint64_t from_client, uint64_t from_server = 0) {
        EXPECT_EQ(server.read, from_client);
        EXPECT_EQ(client.read, from_server);
        EXPECT_EQ(client.wrong + server.wrong, 0u);
        EXPECT_EQ(client.counters().acknowledged_bytes, from_client);
        EXPECT_EQ(server.counters().acknowledged_bytes, from_server);
    }
    // Ends both directions.
    void finish() {
        wt_tcp_finish(client.c);
        settle();
        wt_tcp_finish(server.c);
        settle();
    }
};

}  // namespace wt::test
