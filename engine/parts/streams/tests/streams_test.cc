// The stages of a stream (../stream.h), from the client's source to the server's check, with a copier
// that a test drives by hand and with those that Windtunnel has. Starts EAL on ordinary memory: no root, no
// hugepages.
#include "streams_rig.h"

namespace wt::test::streams_test {
namespace {

const needs_eal eal(128, 2);

TEST(streams, every_byte_arrives_and_every_write_ends) {
    stream_rig r;
    EXPECT_EQ(r.of(client).state, tcp_state::idle);
    EXPECT_EQ(r.of(server).state, tcp_state::listening);
    EXPECT_FALSE(r.is_unfinished());
    r.loops(200);
    EXPECT_TRUE(r.is_unfinished());
    EXPECT_GT(r.of(server).read, 1u << 20);
    r.expect_finished();
    EXPECT_EQ(r.stats(client, app_rx).latency->intended.total, r.stats(client, app_tx).sent);
    const json ends = r.ledgers();
    ASSERT_EQ(ends.size(), 2u);
    EXPECT_EQ(ends[0]["endpoint"], "client");
    EXPECT_EQ(ends[0]["state"], "closed");
    EXPECT_EQ(ends[0]["written"], ends[0]["acknowledged"]);
    EXPECT_EQ(ends[0]["buffered"], 0);
    EXPECT_EQ(ends[0]["missing"], 0);
    EXPECT_EQ(ends[0]["checked"], nullptr);
    EXPECT_EQ(ends[1]["read"], ends[0]["written"]);
    EXPECT_EQ(ends[1]["checked"]["bytes"], ends[0]["written"]);
    EXPECT_EQ(ends[1]["checked"]["first_wrong"], nullptr);
}

// Writes of all sizes, cut at the end of the buffer where it is no multiple of them.
TEST(streams, writes_and_buffers_of_all_sizes) {
    for (const uint32_t write : {64u, 4096u, 65536u})
        for (const uint32_t buffer : {write < 4096 ? 4096 : write, 2 * write + 4097, 300'001u})
            for (const char *order : {"rotating", "hot"}) {
                stream_rig r(stream_plan({{"write_bytes", write}, {"send_buffer_bytes", buffer}},
                                         json::object(),
                                         {{"source", {{"bytes", 200'000}, {"order", order}}}}));
                r.loops(60);
                EXPECT_GT(r.of(server).read, 0u) << write << " " << buffer;
                r.expect_finished();
            }
}

TEST(streams, real_copiers_and_those_with_faults_make_no_wrong_byte) {
    for (const std::string &engine : loops_of_the_cpu()) {
        stream_rig r(stream_plan(json::object(), {{"engine", engine}}));
        r.loops(100);
        r.expect_finished();
    }
    for (const char *fault : {"late", "full", "failing"})
        for (const int depth : {1, 3, 8}) {
            stream_rig r(stream_plan({{"send_buffer_bytes", 20'000}},
                                     {{"engine", "planted"},
                                      {"options", {{"fault", fault}, {"share", "0.3"}}},
                                      {"depth", depth}}));
            for (int i = 0; i < 10'000 && r.of(server).read < 100'000; i++) r.loops(10);
            EXPECT_GE(r.of(server).read, 100'000u) << fault;
            r.expect_finished();
        }
}

TEST(streams, lies_of_a_copier_are_found) {
    stream_rig r(stream_plan(), true);
    r.hand.may_end = UINT32_MAX;
    r.loops(20);
    const uint64_t right = r.of(client).made;
    r.hand.copies = false;
    r.loops(20);
    EXPECT_GE(r.of(server).found.first_wrong, right - write_bytes * 32);
    EXPECT_EQ(r.of(server).found.first_wrong % write_bytes, 0u);
    EXPECT_GT(r.of(server).found.wrong_bytes, write_bytes / 2);
    r.hand.copies = true;
}

TEST(streams, a_write_is_sent_when_its_copy_has_ended_and_none_before_it) {
    stream_rig r(stream_plan(), true);
    r.connect();
    EXPECT_TRUE(r.run(client, app_tx).worked);
    EXPECT_EQ(r.hand.running.size(), 16u) << "64 KiB of writes a call";
    EXPECT_EQ(r.run(client, disp_tx).objects, 0u);
    EXPECT_EQ(r.unacknowledged(), 0u);
    r.hand.may_end = 2;
    EXPECT_EQ(r.run(client, app_tx).objects, 2u);
    EXPECT_EQ(r.unacknowledged(), 2u * write_bytes);
    EXPECT_EQ(r.run(client, app_tx).stalled, for_copies);
    EXPECT_EQ(r.run(client, disp_tx).objects, 6u);
}

// An empty send buffer begins anew, and copies run to where it would have gone on.
TEST(streams, what_would_empty_the_buffer_waits_while_copies_run) {
    stream_rig r(stream_plan({{"send_buffer_bytes", 100'000}}), true);
    r.connect();
    r.run(client, app_tx);
    r.hand.may_end = 2;
    r.run(client, app_tx);
    r.carry(client);
    r.carry(server);  // takes two writes, and acknowledges them
    const call_result held = r.carry(client);
    EXPECT_EQ(held.objects, 0u);
    EXPECT_EQ(held.stalled, for_copies);
    EXPECT_EQ(r.unacknowledged(), 2u * write_bytes) << "it waits";
    r.hand.may_end = 1;
    r.run(client, app_tx);
    EXPECT_GT(r.carry(client).objects, 0u) << "one more write: it does not empty the buffer";
    EXPECT_EQ(r.unacknowledged(), 1u * write_bytes);
    r.run(server, app_rx), r.carry(server);
    EXPECT_EQ(r.carry(client).stalled, for_copies);
    r.hand.may_end = UINT32_MAX;
    r.loops(50);
    EXPECT_EQ(r.state(client), tcp_state::open);
    r.expect_finished();
}

// Copies that end in any rhythm, beside acknowledgements that arrive in any other.
TEST(streams, no_rhythm_of_copies_and_acknowledgements_loses_a_byte) {
    uint64_t seed = 5;
    for (const uint32_t buffer : {4096u, 8192u, 20'001u, 100'000u})
        for (const int depth : {1, 2, 7, 64}) {
            stream_rig r(stream_plan({{"send_buffer_bytes", buffer}}, {{"depth", depth}, {"batch", 4}}),
                         true);
            for (int i = 0; i < 3000; i++) {
                constexpr stage_kind all[] = {nic_rx, disp_rx, app_rx, app_tx, disp_tx, nic_tx};
                const size_t endpoint = random_below(&seed, 2);
                r.hand.may_end = static_cast<uint32_t>(random_below(&seed, 3));
                if (const stage_kind next = all[random_below(&seed, 6)]; endpoint == client || next != app_tx)
                    r.run(endpoint, next);
            }
            EXPECT_GT(r.of(server).read, 0u) << buffer << " " << depth;
            r.hand.may_end = UINT32_MAX;
            r.expect_finished();
        }
}

TEST(streams, a_hold_ends_copies_and_commits_nothing) {
    stream_rig r(stream_plan(), true);
    r.connect();
    r.run(client, app_tx);
    stage &s = r.at(client, app_tx);
    ASSERT_NE(s.before_hold, nullptr);
    r.hand.may_end = UINT32_MAX;
    s.before_hold(s.own_role, *s.current);
    EXPECT_EQ(r.copying().pending.running, 0u);
    EXPECT_EQ(r.of(client).committed, 0u);
    r.loops(20);
    r.expect_finished();
}

// What is acknowledged at once may be more than a call ends.
TEST(streams, every_acknowledged_write_ends_whatever_the_batch) {
    json p = stream_plan({{"write_bytes", 64}});
    p["endpoints"][client]["batch"]["app_rx"] = 4;
    stream_rig r(p);
    r.connect();
    r.run(client, app_tx);
    r.f.signals.sending = false;
    EXPECT_EQ(r.in_flight(), 32u);
    r.carry(client), r.carry(server), r.carry(client);
    EXPECT_EQ(r.unacknowledged(), 0u);
    for (uint32_t left = 32; left > 0; left -= 4) {
        EXPECT_EQ(r.in_flight(), left);
        EXPECT_EQ(r.run(client, app_rx).objects, 4u);
    }
    EXPECT_EQ(r.run(client, app_rx).objects, 0u);
}

TEST(streams, a_call_makes_no_more_writes_than_its_batch) {
    stream_rig r(stream_plan({{"write_bytes", 64}}));
    r.connect();
    r.app(client).batch_tx = 3;  // of a variant
    r.run(client, app_tx);
    EXPECT_EQ(r.in_flight(), 3u);
}

TEST(streams, a_read_takes_no_more_than_its_size) {
    stream_rig r(stream_plan({{"read_bytes", 1000}}));
    r.connect();
    r.run(client, app_tx);
    r.carry(client), r.carry(server);
    for (uint64_t read = 1000; read <= 10'000; read += 1000) {
        EXPECT_EQ(r.run(server, app_rx).objects, 1u);
        EXPECT_EQ(r.of(server).read, read);
    }
    r.expect_finished();
}

// On a busy host its worker may get no CPU while the client finishes: all is acknowledged then, and not read.
TEST(streams, the_drain_waits_for_a_server_that_has_not_read_all) {
    stream_rig r;
    r.connect();
    r.run(client, app_tx);
    r.f.signals.sending = false;
    for (int i = 0; i < 100; i++) {
        r.run(client, app_tx), r.run(client, app_rx);
        r.carry(client), r.carry(server);
    }
    const stream &c = r.of(client), &s = r.of(server);
    ASSERT_GT(c.committed, 0u);
    ASSERT_EQ(r.unacknowledged(), 0u);
    ASSERT_EQ(c.state, tcp_state::closed);
    ASSERT_EQ(s.read, 0u);
    EXPECT_TRUE(r.is_unfinished());
    r.expect_finished();
}

TEST(streams, in_an_open_loop_writes_leave_at_their_times) {
    stream_rig r(stream_plan({{"write_bytes", 64}}, json::object(), {{"load", open_load(1e6, "constant")}}));
    r.loops(2000);
    const stage_stats &s = r.stats(client, app_tx);
    EXPECT_GT(s.sent, 10u);
    EXPECT_GE(s.offered, s.sent);
    EXPECT_EQ(s.pacing->total, s.sent);
    r.expect_finished();
}

TEST(streams, without_mbufs_the_dispatchers_wait) {
    stream_rig r;
    r.loops(5);
    for (const size_t end : {client, server}) {
        stream &s = r.of(end);
        rte_pktmbuf_free_bulk(s.spare.data(), s.spares);
        s.spares = 0;
        r.hoard(end, 0);
        EXPECT_EQ(r.run(end, disp_tx).stalled, for_mbufs) << end;
    }
    r.give_back();
    r.loops(50);
    r.expect_finished();
}

}  // namespace
}  // namespace wt::test::streams_test
