// The C interface of one TCP connection (../tcp.h): its states, its buffers, its counters, and what comes
// from elsewhere.
#include "tcp_pair.h"

namespace wt::test::tcp_test {
namespace {

TEST(tcp, bytes_go_both_ways_and_both_ends_finish) {
    tcp_pair p;
    EXPECT_EQ(p.client.state(), tcp_state::idle);
    EXPECT_EQ(p.server.state(), tcp_state::listening);
    wt_tcp_connect(p.client.c);
    EXPECT_EQ(p.client.state(), tcp_state::connecting);
    p.settle();
    EXPECT_EQ(p.client.state(), tcp_state::open);
    EXPECT_EQ(p.server.state(), tcp_state::open);
    p.transfer(1'234'567, 765'432);
    p.expect_all(1'234'567, 765'432);
    wt_tcp_finish(p.client.c);
    EXPECT_EQ(p.client.state(), tcp_state::finishing);
    p.settle();
    EXPECT_EQ(p.client.state(), tcp_state::closed) << "the peer has acknowledged it";
    EXPECT_EQ(p.server.state(), tcp_state::peer_finished);
    p.server.write(800'000);  // this direction is open still
    p.settle();
    EXPECT_EQ(p.client.read, 800'000u);
    wt_tcp_finish(p.server.c);
    p.settle();
    EXPECT_EQ(p.server.state(), tcp_state::closed);
    EXPECT_EQ(p.client.state(), tcp_state::closed);
    p.expect_all(1'234'567, 800'000);  // and neither FIN is counted as a byte
    for (const tcp_end *end : {&p.client, &p.server}) {
        EXPECT_EQ(end->counters().retransmitted_segments, 0u);
        EXPECT_EQ(end->counters().timeouts, 0u);
        EXPECT_EQ(end->counters().window_probes, 0u);
    }
    // a SYN, a FIN, and the bytes in segments of 1460
    EXPECT_GE(p.client.counters().sent_segments, 1'234'567u / 1460 + 3);
}

TEST(tcp, a_fin_follows_what_the_send_buffer_holds) {
    tcp_pair p;
    p.connect();
    p.client.write(90'000);
    wt_tcp_finish(p.client.c);
    EXPECT_EQ(wt_tcp_send_at(p.client.c), nullptr);
    p.settle();
    p.expect_all(90'000);
    EXPECT_EQ(p.client.state(), tcp_state::closed);
    EXPECT_EQ(p.server.state(), tcp_state::peer_finished);
}

TEST(tcp, both_may_finish_at_once) {
    tcp_pair p;
    p.connect();
    wt_tcp_finish(p.client.c), wt_tcp_finish(p.server.c);
    p.settle();
    EXPECT_EQ(p.client.state(), tcp_state::closed);
    EXPECT_EQ(p.server.state(), tcp_state::closed);
}

TEST(tcp, an_abort_resets_both_ends) {
    for (const bool by_server : {false, true}) {
        tcp_pair p;
        p.connect();
        p.transfer(50'000);
        p.client.write(60'000);
        wt_tcp_abort(by_server ? p.server.c : p.client.c);
        p.settle();
        EXPECT_EQ(p.client.state(), tcp_state::reset) << by_server;
        EXPECT_EQ(p.server.state(), tcp_state::reset) << by_server;
        EXPECT_EQ(p.client.written, p.client.counters().acknowledged_bytes + p.client.unacknowledged());
        EXPECT_EQ(wt_tcp_send_at(p.client.c), nullptr);
        EXPECT_FALSE(wt_tcp_commit(p.client.c, p.client.sends.data(), 1));
        wt_tcp_finish(p.client.c);
        EXPECT_EQ(p.client.state(), tcp_state::reset);
    }
}

// The FIN was under way: whether the peer has everything is not known.
TEST(tcp, a_reset_before_the_fin_is_acknowledged_is_no_close) {
    for (const bool peer_has_finished : {false, true}) {
        tcp_pair p;
        p.connect();
        if (peer_has_finished) wt_tcp_finish(p.server.c), p.settle();
        p.client.write(10'000);
        wt_tcp_finish(p.client.c);
        wt_tcp_abort(p.server.c);
        p.settle();
        EXPECT_EQ(p.client.state(), tcp_state::reset) << peer_has_finished;
    }
}

TEST(tcp, a_reset_after_both_have_finished_is_a_close) {
    tcp_pair p;
    p.connect();
    wt_tcp_finish(p.client.c);
    p.settle();
    wt_tcp_abort(p.server.c);
    p.settle();
    EXPECT_EQ(p.client.state(), tcp_state::closed) << "the peer had acknowledged its FIN";
    EXPECT_EQ(p.server.state(), tcp_state::reset);
}

TEST(tcp, a_port_on_which_nobody_listens_resets_the_client) {
    tcp_settings to_other = settings_of(client_ip, server_ip);
    to_other.peer_port = 2001;
    tcp_pair p(to_other, settings_of(server_ip, 0));
    p.connect();
    EXPECT_EQ(p.client.state(), tcp_state::reset);
    EXPECT_EQ(p.server.state(), tcp_state::listening);
}

TEST(tcp, impossible_settings_are_refused) {
    const auto opens = [](const std::function<void(tcp_settings &)> &change, uint32_t peer_ip = server_ip) {
        tcp_settings s = settings_of(client_ip, peer_ip);
        change(s);
        return tcp_end(s).c != nullptr;
    };
    EXPECT_TRUE(opens([](tcp_settings &) {}));
    EXPECT_TRUE(opens([](tcp_settings &s) { s.mtu = 68; }));
    EXPECT_FALSE(opens([](tcp_settings &s) { s.mtu = 67; }));
    EXPECT_FALSE(opens([](tcp_settings &s) { s.send_bytes = 0; }));
    EXPECT_FALSE(opens([](tcp_settings &s) { s.receive_bytes = 0; }));
    EXPECT_FALSE(opens([](tcp_settings &s) { s.port = 0; }));
    EXPECT_FALSE(opens([](tcp_settings &s) { s.peer_port = 0; }));
    EXPECT_TRUE(opens([](tcp_settings &s) { s.peer_port = 0; }, 0));
    for (const uint32_t no_host : {0u, 0xe0000001u, 0xffffffffu})
        EXPECT_FALSE(opens([&](tcp_settings &s) { s.ip = no_host; })) << no_host;
    EXPECT_FALSE(opens([](tcp_settings &s) { s.peer_ip = 0xe0000001; }));
    tcp_settings huge = settings_of(client_ip, server_ip);
    uint8_t byte;
    huge.send_buffer = huge.receive_buffer = &byte;
    huge.send_bytes = (1 << 30) + 1;
    EXPECT_EQ(wt_tcp_open(&huge), nullptr);
    std::swap(huge.send_bytes, huge.receive_bytes);
    EXPECT_EQ(wt_tcp_open(&huge), nullptr);
    wt_tcp_free(nullptr);
}

TEST(tcp, only_what_stands_behind_the_last_byte_is_committed) {
    tcp_pair p;
    p.connect();
    uint8_t *const begin = p.client.sends.data();
    EXPECT_EQ(wt_tcp_send_at(p.client.c), begin);
    EXPECT_FALSE(wt_tcp_commit(p.client.c, begin + 1, 10));
    EXPECT_FALSE(wt_tcp_commit(p.client.c, begin, 100'001));
    EXPECT_EQ(p.client.unacknowledged(), 0u);
    EXPECT_TRUE(p.client.make(p.now).empty()) << "nothing is sent of it";
    p.client.write(60'000);
    EXPECT_EQ(wt_tcp_send_at(p.client.c), begin + 60'000);
    EXPECT_FALSE(wt_tcp_commit(p.client.c, begin, 10));
    EXPECT_FALSE(wt_tcp_commit(p.client.c, begin + 60'000, 40'001));
    // the first bytes are acknowledged, not the last ones: there is room at the begin, behind a gap
    for (int i = 0; i < 10; i++) p.send(p.client.make(p.now), true);
    for (const packet &arrives : p.to_server) p.server.take(p.now, arrives);
    p.to_server.clear();
    p.client.take(p.now, p.server.make(p.now));
    EXPECT_EQ(p.client.unacknowledged(), 60'000u - 10 * 1460);
    EXPECT_FALSE(wt_tcp_commit(p.client.c, begin + 60'000, 40'001)) << "its end is no gap's";
    p.client.write(100'000);
    EXPECT_EQ(wt_tcp_send_at(p.client.c), begin) << "the buffer is a ring";
    EXPECT_FALSE(wt_tcp_commit(p.client.c, begin, 14'601)) << "those have not been acknowledged";
    p.transfer(114'600);
    p.expect_all(114'600);
    EXPECT_EQ(wt_tcp_send_at(p.client.c), begin) << "an empty one begins anew";
}

// disp_rx keeps such a packet back while copies run to behind the last byte.
TEST(tcp, what_would_empty_the_send_buffer_is_known_before) {
    tcp_pair p;
    p.connect();
    p.client.write(4000);
    std::vector<packet> acknowledgements;
    for (packet sent; !(sent = p.client.make(p.now)).empty();) {
        p.server.take(p.now, sent);
        acknowledgements.push_back(p.server.make(p.now));
    }
    ASSERT_EQ(acknowledgements.size(), 3u);
    const auto would = [&](const packet &a) {
        return wt_tcp_would_empty(p.client.c, a.data(), static_cast<uint32_t>(a.size()));
    };
    EXPECT_FALSE(would(acknowledgements[0]));
    EXPECT_FALSE(would(acknowledgements[1]));
    EXPECT_TRUE(would(acknowledgements[2]));
    packet reset = acknowledgements[2], foreign = reset, cut = reset;
    reset[flags] |= rst;
    foreign[source_port]++;
    cut.resize(39);
    EXPECT_FALSE(would(reset)) << "a buffer that is reset stays as it is";
    EXPECT_FALSE(would(foreign));
    EXPECT_FALSE(would(cut));
    EXPECT_FALSE(would({}));
    p.client.take(p.now, acknowledgements[0]);
    EXPECT_TRUE(would(acknowledgements[2]));
    p.client.write(4001);
    EXPECT_FALSE(would(acknowledgements[2])) << "one byte more";
    wt_tcp_abort(p.client.c);
    EXPECT_FALSE(would(acknowledgements[2])) << "nothing goes there any more";
}

TEST(tcp, copies_are_counted_by_packets) {
    tcp_pair p;
    p.connect();
    p.client.write(3000);
    tcp_copies copies{};
    packet made(1500);
    for (uint64_t i = 1; i <= 3; i++) {
        EXPECT_GT(wt_tcp_make_packet(p.client.c, p.now, made.data(), &copies), 0u);
        EXPECT_EQ(copies.packets, i);
    }
    EXPECT_EQ(wt_tcp_make_packet(p.client.c, p.now, made.data(), &copies), 0u);
    EXPECT_EQ(copies.packets, 3u);
    EXPECT_GT(copies.ticks, 0u);
}

TEST(tcp, without_checksums_none_is_written_and_none_is_checked) {
    tcp_pair p = tcp_pair::changed([](tcp_settings &s) { s.checksums = false; });
    p.wire = [](const packet &sent, bool) {
        EXPECT_EQ(sent[36] | sent[37], 0);
        return 1;
    };
    p.connect();
    p.transfer(300'000);
    p.expect_all(300'000);
}

TEST(tcp, every_way_of_congestion_control_carries_all_bytes) {
    for (const auto way : {tcp_congestion::none, tcp_congestion::reno, tcp_congestion::cubic}) {
        tcp_pair p = tcp_pair::changed([&](tcp_settings &s) { s.congestion = way; });
        p.connect();
        p.transfer(2'000'000);
        p.expect_all(2'000'000);
    }
}

// The end of the buffer that bytes fall on, and segments across it.
TEST(tcp, buffers_of_odd_sizes_carry_all_bytes) {
    for (const uint64_t bytes :
         {uint64_t{1}, uint64_t{7}, uint64_t{1459}, uint64_t{1461}, uint64_t{99'991}}) {
        tcp_pair p = tcp_pair::changed([&](tcp_settings &s) { s.send_bytes = bytes; });
        p.connect();
        p.transfer(bytes * 20 + 3);
        p.expect_all(bytes * 20 + 3);
    }
}

// A client whose first number of sequence lies so close below this one.
tcp_settings beginning_below(uint32_t number) {
    tcp_settings s = settings_of(client_ip, server_ip);
    for (s.seed = 0;; s.seed++) {
        tcp_end end(s);
        wt_tcp_connect(end.c);
        if (number - 1 - number_at(end.make(0), sequence) < 1 << 20) return s;
    }
}

TEST(tcp, numbers_of_sequence_wrap) {
    for (const uint32_t number : {0u, 0x80000000u}) {
        tcp_pair p(beginning_below(number), settings_of(server_ip, 0));
        p.connect();
        p.transfer(3 << 20);
        p.expect_all(3 << 20);
        EXPECT_EQ(p.client.counters().retransmitted_segments, 0u);
        p.finish();
        EXPECT_EQ(p.client.state(), tcp_state::closed);
    }
}

TEST(tcp, numbers_of_sequence_wrap_under_loss) {
    for (const uint32_t number : {0u, 0x80000000u}) {
        tcp_pair p(beginning_below(number), settings_of(server_ip, 0));
        p.connect();
        p.wire = [seed = uint64_t{number}](const packet &, bool) mutable {
            return random_below(&seed, 50) > 0;
        };
        p.transfer(3 << 20);
        p.expect_all(3 << 20);
        EXPECT_GT(p.client.counters().retransmitted_segments, 0u);
    }
}

// More bytes than numbers of sequence, past each of the places where 31 and 32 bits end.
TEST(tcp, a_stream_is_longer_than_its_numbers) {
    tcp_pair p = tcp_pair::changed([](tcp_settings &s) {
        s.mtu = 65535;
        s.checksums = false;
        s.send_bytes = s.receive_bytes = 4 << 20;
    });
    p.connect();
    for (const uint64_t upto : {(uint64_t{1} << 31) - 5, (uint64_t{1} << 32) + 5, uint64_t{9} << 29}) {
        p.transfer(upto);
        p.expect_all(upto);
    }
    EXPECT_EQ(p.client.counters().retransmitted_segments, 0u);
    p.finish();
    p.expect_all(uint64_t{9} << 29);
    EXPECT_EQ(p.client.state(), tcp_state::closed);
}

}  // namespace
}  // namespace wt::test::tcp_test
