// TCP (../tcp.h) on a wire that loses, doubles, reorders and invents packets: every byte arrives once,
// and what it took is counted.
#include "tcp_pair.h"

namespace wt::test::tcp_wire_test {
namespace {

constexpr int64_t second = 1'000'000;  // microseconds

bool has_bytes(const packet &p) { return p.size() > 60; }

TEST(tcp_wire, lost_packets_are_sent_again) {
    for (const auto way : {tcp_congestion::none, tcp_congestion::reno, tcp_congestion::cubic})
        for (const uint64_t one_in : {1000, 100, 10}) {
            tcp_pair p = tcp_pair::changed([&](tcp_settings &s) { s.congestion = way; });
            uint64_t lost = 0;
            p.wire = [&, seed = one_in](const packet &, bool to_server) mutable {
                const bool arrives = random_below(&seed, one_in) > 0;
                lost += to_server && !arrives;
                return arrives;
            };
            p.connect();
            p.transfer(2'000'000, 500'000);
            p.expect_all(2'000'000, 500'000);
            EXPECT_GT(lost, 0u);
            EXPECT_GE(p.client.counters().retransmitted_segments + p.client.counters().timeouts, 1u);
        }
}

TEST(tcp_wire, doubled_and_reordered_packets_arrive_once) {
    tcp_pair p;
    uint64_t seed = 3;
    p.wire = [&](const packet &sent, bool to_server) {
        auto &way = to_server ? p.to_server : p.to_client;
        if (way.size() > 2 && random_below(&seed, 4) == 0) {
            way.insert(way.end() - 2, sent);
            return 0;
        }
        return 1 + static_cast<int>(random_below(&seed, 2));
    };
    p.connect();
    p.transfer(2'000'000, 500'000);
    p.expect_all(2'000'000, 500'000);
    p.finish();
    EXPECT_EQ(p.client.state(), tcp_state::closed);
    EXPECT_EQ(p.server.state(), tcp_state::closed);
}

// A segment that is lost again and again: its timer doubles, and each round is one time-out.
TEST(tcp_wire, time_outs_are_counted_one_by_one) {
    tcp_pair p;
    p.connect();
    p.transfer(1000);
    int lose = 4;
    p.wire = [&](const packet &sent, bool to_server) {
        return !(to_server && has_bytes(sent) && lose-- > 0);
    };
    p.client.write(2000);
    p.settle();
    for (uint64_t count = 0; count < 4; count++) {
        EXPECT_EQ(p.client.counters().timeouts, count);
        EXPECT_EQ(p.client.counters().retransmitted_segments, count);
        const int64_t begin = p.now;
        while (p.client.counters().timeouts == count && p.now < begin + 100 * second) {
            p.now += 10'000;
            p.settle();
        }
        EXPECT_GE(p.now - begin, second * 9 / 10 << count);
        EXPECT_LE(p.now - begin, second * 12 / 10 << count);
    }
    p.expect_all(2000);
    EXPECT_EQ(p.client.counters().timeouts, 4u);
    p.transfer(3'000'000);
    EXPECT_EQ(p.client.counters().timeouts, 4u) << "what follows is none";
}

// What is sent again because later segments arrive waits for no timer.
TEST(tcp_wire, a_fast_retransmission_is_no_time_out) {
    tcp_pair p;
    p.connect();
    p.transfer(1000);
    int data = 0;
    p.wire = [&](const packet &sent, bool to_server) {
        return !(to_server && has_bytes(sent) && ++data == 3);
    };
    p.client.write(90'000);
    p.settle();
    p.expect_all(90'000);
    EXPECT_GE(p.client.counters().retransmitted_segments, 1u);
    EXPECT_EQ(p.client.counters().timeouts, 0u);
}

TEST(tcp_wire, segments_of_the_handshake_and_of_the_end_are_sent_again) {
    for (const uint8_t flag : {syn, fin})
        for (const bool lost_to_server : {true, false}) {
            tcp_pair p;
            int lose = 1;
            p.wire = [&](const packet &sent, bool to_server) {
                return !(to_server == lost_to_server && sent[flags] & flag && lose-- > 0);
            };
            const auto wait = [&] {
                for (int i = 0; i < 300; i++) p.now += 10'000, p.settle();
            };
            p.connect(), wait();
            EXPECT_EQ(p.client.state(), tcp_state::open) << int{flag} << lost_to_server;
            EXPECT_EQ(p.server.state(), tcp_state::open) << int{flag} << lost_to_server;
            p.transfer(10'000);
            wt_tcp_finish(p.client.c), wait();
            wt_tcp_finish(p.server.c), wait();
            EXPECT_EQ(p.client.state(), tcp_state::closed);
            EXPECT_EQ(p.server.state(), tcp_state::closed);
            // each end waits for the reply to its own SYN
            const uint64_t waits = flag == syn && !lost_to_server ? 2 : 1;
            EXPECT_EQ(p.client.counters().timeouts + p.server.counters().timeouts, waits);
            p.expect_all(10'000);
        }
}

TEST(tcp_wire, a_peer_that_does_not_read_is_probed) {
    constexpr uint64_t window = 60'000;  // one that is told to the byte
    // the last byte goes in a probe; or more follows
    for (const uint64_t more : {1, 50'000}) {
        tcp_pair p = tcp_pair::changed([](tcp_settings &s) { s.receive_bytes = window; });
        p.connect();
        p.server_reads = false;
        p.client.write(window);
        p.settle();
        p.client.write(window + more);
        for (int i = 0; i < 500; i++) p.now += 10'000, p.settle();
        const tcp_counters probing = p.client.counters();
        EXPECT_GE(probing.window_probes, 2u);
        EXPECT_EQ(probing.timeouts, 0u);
        EXPECT_EQ(probing.retransmitted_segments, 0u);
        EXPECT_EQ(probing.acknowledged_bytes, window);
        // room, of which the peer tells nothing: the next probe finds it
        p.server.read_all(20'000);
        for (int i = 0; i < 2000; i++) p.now += 10'000, p.settle();
        p.server_reads = true;
        p.transfer(window + more);
        p.expect_all(window + more);
    }
}

TEST(tcp_wire, a_reply_to_a_listener_that_is_reset_leaves_it_to_the_next_peer) {
    tcp_pair p;
    packet opening, reset;
    tcp_settings other = settings_of(client_ip, server_ip);
    other.port = 1001;
    tcp_end gone(other);
    wt_tcp_connect(gone.c);
    opening = gone.make(0);
    p.server.take(p.now, opening);
    packet reply = p.server.make(p.now);
    ASSERT_FALSE(reply.empty());
    EXPECT_EQ(p.server.state(), tcp_state::listening) << "half open";
    wt_tcp_abort(gone.c);
    reset = tcp_end(other).take(p.now, reply);  // one that knows of no connection
    ASSERT_TRUE(reset.at(flags) & rst);
    p.server.take(p.now, reset);
    EXPECT_EQ(p.server.state(), tcp_state::listening);
    p.connect();
    p.transfer(200'000, 200'000);
    p.expect_all(200'000, 200'000);
    EXPECT_EQ(p.server.counters().retransmitted_segments, 0u);
    EXPECT_EQ(p.server.counters().timeouts, 0u);
}

// Of another port, another host, or for another: a reset replies, or nothing does, and nothing counts.
TEST(tcp_wire, segments_of_others_change_nothing) {
    tcp_pair p = tcp_pair::changed([](tcp_settings &s) { s.checksums = false; });
    p.connect();
    p.transfer(10'000);
    p.client.write(50'000);
    for (packet sent; !(sent = p.client.make(p.now)).empty();) p.send(sent, true);
    for (const packet &arrives : p.to_server) p.server.take(p.now, arrives);
    p.to_server.clear();
    const packet good = p.server.make(p.now);
    ASSERT_FALSE(good.empty());
    for (const size_t place :
         {size_t{source_ip}, size_t{source_ip + 4}, size_t{source_port}, size_t{source_port + 2}}) {
        packet foreign = good;
        foreign[place + 1]++;
        uint32_t sum = 0;
        foreign[10] = foreign[11] = 0;
        for (size_t i = 0; i < 20; i += 2) sum += static_cast<uint32_t>(foreign[i] << 8 | foreign[i + 1]);
        while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
        foreign[10] = static_cast<uint8_t>(~sum >> 8), foreign[11] = static_cast<uint8_t>(~sum);
        const tcp_counters before = p.client.counters();
        const packet reply = p.client.take(p.now, foreign);
        EXPECT_TRUE(reply.empty() || reply[flags] & rst) << place;
        EXPECT_EQ(p.client.state(), tcp_state::open);
        EXPECT_EQ(p.client.unacknowledged(), 40'000u);
        EXPECT_EQ(p.client.counters().acknowledged_bytes, before.acknowledged_bytes);
    }
    p.client.take(p.now, good);
    EXPECT_EQ(p.client.counters().acknowledged_bytes, 50'000u);
    p.transfer(60'000);
    p.expect_all(60'000);
}

// Bytes of any kind, and segments of this connection with bytes changed or cut off.
TEST(tcp_wire, garbage_does_no_harm) {
    tcp_pair p;
    uint64_t seed = 11;
    const auto garbled = [&](packet of) {
        of.resize(random_below(&seed, of.size() + 1));
        for (uint64_t i = random_below(&seed, 8); i > 0 && !of.empty(); i--)
            of[random_below(&seed, of.size())] ^= static_cast<uint8_t>(1 + random_below(&seed, 255));
        return of;
    };
    p.wire = [&](const packet &sent, bool to_server) {
        packet noise(random_below(&seed, 1500));
        for (uint8_t &b : noise) b = static_cast<uint8_t>(random_next(&seed));
        for (const packet &bad : {garbled(sent), noise}) (to_server ? p.server : p.client).take(p.now, bad);
        return 1;
    };
    p.connect();
    p.transfer(3'000'000, 1'000'000);
    p.expect_all(3'000'000, 1'000'000);
    EXPECT_EQ(p.client.state(), tcp_state::open);
    EXPECT_EQ(p.server.state(), tcp_state::open);
}

// Without checksums, whatever a peer's segments say: no crash, no byte beyond the buffers.
TEST(tcp_wire, a_hostile_peer_does_no_harm) {
    for (uint64_t seed = 1; seed <= 300; seed++) {
        tcp_pair p = tcp_pair::changed([](tcp_settings &s) { s.checksums = false; });
        p.connect();
        uint64_t draw = seed;
        for (int i = 0; i < 40; i++) {
            p.client.write(p.client.written + random_below(&draw, 3000));
            packet sent = p.server.make(p.now);
            if (sent.empty()) sent = p.client.make(p.now);
            if (sent.empty()) continue;
            // any header of TCP behind an honest one of IP
            for (size_t b = 24; b < 40; b++)
                if (random_below(&draw, 3) == 0) sent[b] = static_cast<uint8_t>(random_next(&draw));
            (number_at(sent, source_ip) == client_ip ? p.server : p.client).take(p.now, sent);
            p.now += static_cast<int64_t>(random_below(&draw, 3 * second));
        }
        const uint64_t written = p.client.written;
        EXPECT_EQ(p.client.counters().acknowledged_bytes + p.client.unacknowledged(), written) << seed;
    }
}

}  // namespace
}  // namespace wt::test::tcp_wire_test
