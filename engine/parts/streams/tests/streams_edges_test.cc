// What disturbs a stream: a copier that is given up, resets, packets that are none of its own, a plan that
// places it wrongly. Starts EAL on ordinary memory: no root, no hugepages.
#include "core/refusal.h"
#include "streams_rig.h"

namespace wt::test::streams_edges_test {
namespace {

const needs_eal eal(128, 2);

json given_up_plan() { return stream_plan(json::object(), {{"timeout_ns", 1}}); }

// The copier may write there at any time.
TEST(streams_edges, after_a_copier_is_given_up_nothing_is_written_to_the_buffer_or_sent_from_it) {
    stream_rig r(given_up_plan(), true);
    r.connect();
    r.run(client, app_tx);
    r.hand.may_end = 1;
    r.run(client, app_tx);
    r.carry(client), r.carry(server);
    stream &s = r.of(client);
    const uint64_t made = s.made;
    ASSERT_EQ(s.committed, write_bytes);
    const std::vector<uint8_t> before(s.send_buffer.get(), s.send_buffer.get() + s.send_bytes);
    r.run(client, app_tx);
    EXPECT_TRUE(r.copying().gave_up);
    EXPECT_EQ(r.state(client), tcp_state::reset);
    EXPECT_EQ(s.state, tcp_state::reset);
    EXPECT_EQ(s.made, made) << "no write is made";
    EXPECT_EQ(s.committed, write_bytes);
    EXPECT_EQ(std::memcmp(before.data(), s.send_buffer.get(), before.size()), 0);
    EXPECT_EQ(r.copies().never_ended, made / write_bytes - 1);
    // they end after all
    for (const copy_piece &piece : r.hand.running) std::memset(piece.to, 0xee, piece.bytes);
    r.loops(100);
    EXPECT_EQ(s.made, made);
    EXPECT_EQ(r.of(server).read, write_bytes);
    EXPECT_EQ(r.state(server), tcp_state::reset);
    r.expect_all_right();
    EXPECT_TRUE(r.is_reset());
    EXPECT_FALSE(r.is_unfinished()) << "nobody waits for it";
    r.hand.running.clear();
}

// The way to the copier, which is measured beside the run, may be what does not end.
TEST(streams_edges, a_copier_that_was_given_up_elsewhere_ends_the_stream) {
    stream_rig r(stream_plan(), true);
    r.connect();
    r.copying().gave_up = true;
    r.loops(10);
    EXPECT_EQ(r.of(client).made, 0u);
    EXPECT_EQ(r.state(client), tcp_state::reset);
    EXPECT_EQ(r.state(server), tcp_state::reset);
}

TEST(streams_edges, a_reset_while_copies_run_stalls_nothing) {
    stream_rig r(stream_plan(), true);
    r.connect();
    r.run(client, app_tx);
    r.hand.may_end = 2;
    r.run(client, app_tx);
    r.carry(client);
    r.run(server, nic_rx), r.run(server, disp_rx), r.run(server, app_rx), r.run(server, disp_tx);
    wt_tcp_abort(r.tcp(server));
    r.carry(server);
    EXPECT_EQ(r.carry(client).stalled, for_copies) << "the acknowledgement came first";
    r.hand.may_end = 1;
    r.run(client, app_tx);
    EXPECT_GT(r.carry(client).objects, 0u);
    EXPECT_EQ(r.state(client), tcp_state::reset);
    EXPECT_GT(r.copying().pending.count(), 0u);
    EXPECT_EQ(r.run(client, app_tx).stalled, not_stalled);
    EXPECT_TRUE(r.is_reset());
    const json ends = r.ledgers();
    EXPECT_EQ(ends[0]["missing"], 0);
    EXPECT_EQ(ends[0]["state"], "reset");
    r.hand.may_end = UINT32_MAX;
    finish_all_copies(r.f);
}

// An acknowledgement that comes after our own abort finds copies that still run.
TEST(streams_edges, what_comes_after_an_abort_does_not_wait_for_copies) {
    stream_rig r(stream_plan(), true);
    r.connect();
    r.run(client, app_tx);
    r.hand.may_end = 2;
    r.run(client, app_tx);
    r.carry(client), r.carry(server);
    wt_tcp_abort(r.tcp(client));
    r.run(client, nic_rx);
    const call_result taken = r.run(client, disp_rx);
    EXPECT_GT(taken.objects, 0u);
    EXPECT_EQ(taken.stalled, not_stalled);
}

// A segment of TCP from the other side, with checksums that hold only for IP.
byte_vector segment(const rig &r, size_t to, uint32_t bytes = 100) {
    byte_vector frame = r.frame(to, {}, bytes);
    frame[23] = 6;
    frame[46] = 0x50;
    mend_ip_checksum(frame);
    return frame;
}

TEST(streams_edges, what_is_not_of_the_stream_is_dropped_by_name) {
    stream_rig r;
    r.loops(20);
    const uint64_t read = r.of(server).read;
    byte_vector fragment = segment(r, server), elsewhere = fragment, of_udp = r.request(0, 1),
                short_one = fragment, odd = fragment, broken = of_udp;
    put_big16(fragment, 20, 0x2000);
    mend_ip_checksum(fragment);
    elsewhere[0] ^= 2;
    odd[12] = 0x86;
    odd[13] = 0xdd;
    short_one.resize(40);
    broken[24]++;
    r.deliver(server, {fragment, elsewhere, of_udp, short_one, odd, broken});
    while (r.run(server, nic_rx).objects > 0) {
    }
    while (r.run(server, disp_rx).objects > 0) {
    }
    EXPECT_EQ(r.drops(server), (counts{{"ip_fragment", 1},
                                       {"not_for_us", 1},
                                       {"no_message_handler", 1},
                                       {"runt", 1},
                                       {"not_ipv4", 1},
                                       {"bad_ip_checksum", 1}}));
    EXPECT_GE(r.of(server).read, read);
    r.expect_finished();
}

TEST(streams_edges, a_stranger_gets_a_reply_and_becomes_no_peer) {
    stream_rig r(stream_plan({{"checksums", false}}));
    r.connect();
    const mac_address known = r.of(server).peer;
    EXPECT_EQ(std::memcmp(known.bytes, r.p.endpoints[client].mac->bytes, 6), 0) << "learnt in the handshake";
    for (const size_t to : {client, server}) {
        const mac_address peer = r.of(to).peer;
        byte_vector strange = segment(r, to);
        strange[6] = 0x02, strange[11] = 0x77;
        strange[35]++;  // a source port of its own
        r.deliver(to, {strange});
        r.run(to, nic_rx), r.run(to, disp_rx), r.run(to, disp_tx), r.run(to, nic_tx);
        const auto replies = r.taken_off(1 - to);
        ASSERT_EQ(replies.size(), 1u);
        EXPECT_TRUE(std::equal(replies[0].begin(), replies[0].begin() + 6, strange.begin() + 6));
        EXPECT_TRUE(replies[0][47] & 4) << "a reset";
        EXPECT_EQ(std::memcmp(r.of(to).peer.bytes, peer.bytes, 6), 0);
        EXPECT_EQ(r.state(to), tcp_state::open);
    }
    r.loops(20);
    r.expect_finished();
}

TEST(streams_edges, arp_and_icmp_get_replies_beside_a_stream) {
    stream_rig r;
    r.loops(20);
    byte_vector arp(frame_min_bytes), echo = r.request(0, 1);
    arp_request_write(arp.data(), *r.p.endpoints[client].mac, r.p.endpoints[client].ip.v4,
                      r.p.endpoints[server].ip.v4);
    echo[23] = 1;
    mend_ip_checksum(echo);
    const uint8_t icmp[] = {8, 0, 0, 0, 0x12, 0x34, 0, 7};
    std::copy(std::begin(icmp), std::end(icmp), echo.begin() + 34);
    mend_icmp_checksum(echo);
    r.loop(server);
    r.taken_off(client);
    r.deliver(server, {arp, echo});
    r.loop(server);
    uint32_t of_arp = 0, of_icmp = 0;
    for (const byte_vector &frame : r.taken_off(client)) {
        of_arp += frame[13] == 6;
        of_icmp += frame[13] == 0 && frame[23] == 1;
    }
    EXPECT_EQ(of_arp, 1u);
    EXPECT_EQ(of_icmp, 1u);
    EXPECT_TRUE(r.drops(server).empty());
}

// As many objects as a batch has: the counters of batches end there.
TEST(streams_edges, a_hello_counts_in_the_batch_of_a_stream) {
    stream_rig r;
    handshakes both(r);
    r.loops(3);
    both.client_side.state = session_state::hello;
    both.client_side.round++;
    dispatcher &d = r.disp(client);
    d.batch_tx = 1;
    r.run(client, app_tx);
    EXPECT_EQ(r.run(client, disp_tx).objects, 1u);
    EXPECT_EQ(both.client_side.sent, 1u);
}

TEST(streams_edges, hellos_pass_beside_a_stream) {
    stream_rig r;
    r.f.signals.sending = false;
    handshakes both(r);
    both.client_side.state = session_state::hello;
    both.client_side.round++;
    r.loops(3);
    EXPECT_TRUE(r.drops(client).empty());
    EXPECT_TRUE(r.drops(server).empty());
    EXPECT_GT(r.stats(server, nic_tx).packets, 0u) << "it gets a reply";
    r.f.signals.sending = true;
    r.loops(20);
    r.expect_finished();
}

void expect_refused(const json &plan, const char *words) {
    const wt::plan p = read_plan(plan.dump());
    const tsc_clock clock = clock_start(1e9);
    line_writer lines{memfd_create("lines", 0)};
    lines.set_clock(clock);
    run_state f{p, lines, clock};
    open_pools(f);
    f.ports = open_ports(p, f.pools);
    const std::string said = refusal_of([&] { open_endpoints(f); });
    EXPECT_TRUE(contains(said, words)) << said;
}

TEST(streams_edges, a_stream_on_several_workers_is_refused) {
    for (const char *stage : {"app_rx", "disp_tx", "disp_rx"}) {
        json p = stream_plan();
        part(p, {stage});
        expect_refused(p, "run on several workers");
    }
    json p = stream_plan();
    part(p, {"nic_rx", "nic_tx"});
    stream_rig r(p);  // these may
    r.loops(50);
    r.expect_finished();
}

TEST(streams_edges, a_stream_needs_a_dispatcher_of_its_own) {
    json several = stream_plan();
    for (int e : {0, 1}) {
        json &endpoint = several["endpoints"][e];
        endpoint["dispatchers"].push_back(endpoint["dispatchers"][0]);
        endpoint["dispatchers"][1]["queue"] = 1;
        if (endpoint["side"] == "client") endpoint["dispatchers"][1]["peers"] = {1};
        endpoint["port"]["queues"] = 2;
        endpoint["applications"][0]["dispatchers"] = {0, 1};
    }
    expect_refused(several, "several dispatchers");
    json shared = stream_plan();
    for (int e : {0, 1}) {
        json &endpoint = shared["endpoints"][e];
        endpoint["applications"].push_back(endpoint["applications"][0]);
    }
    expect_refused(shared, "share the dispatcher");
}

TEST(streams_edges, addresses_of_no_host_are_refused) {
    json p = stream_plan();
    p["endpoints"][client]["ip"] = "224.0.0.1";
    expect_refused(p, "TCP refuses");
}

}  // namespace
}  // namespace wt::test::streams_edges_test
