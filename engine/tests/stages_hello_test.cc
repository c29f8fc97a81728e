// The hello between two hosts through disp_tx and disp_rx of both sides. Starts EAL on ordinary memory.
#include "stages_rig.h"

namespace wt::test::stages_hello_test {
namespace {

const needs_eal eal(64);

struct two_hosts {
    rig r;
    handshakes both{r};
    handshake &client_side = both.client_side, &server_side = both.server_side;

    explicit two_hosts(const json &plan = rig_plan()) : r(plan) { r.f.signals.sending = false; }
    void send_hello(session_state w) {
        client_side.state = w;
        client_side.round++;
        r.loops(2);
    }
    byte_vector hello_frame(size_t to, const hello &h, uint32_t bytes = hello_bytes) {
        byte_vector frame =
            r.frame(to, {message_kind::request, 0, 0, 0, 0, 0, 1}, bytes - message_header_bytes);
        byte_vector payload(std::max(bytes, hello_bytes));
        hello_write(payload.data(), h);
        std::copy_n(payload.begin(), bytes, frame.begin() + frame_header_bytes);
        mend_udp_checksum(frame);
        return frame;
    }
    hello from_client(session_state w = session_state::hello) {
        hello h = client_side.us;
        h.state = w;
        return h;
    }
};

TEST(hellos, are_sent_and_confirmed_and_not_counted_as_messages) {
    for (const bool split : {false, true}) {
        json plan = rig_plan();
        if (split) part(plan, {"nic_tx"});
        two_hosts both(plan);
        for (const session_state w :
             {session_state::hello, session_state::go, session_state::drain, session_state::finished}) {
            both.send_hello(w);
            EXPECT_EQ(both.server_side.peer_state, static_cast<uint8_t>(w));
            EXPECT_EQ(both.client_side.peer_state, static_cast<uint8_t>(w));
        }
        EXPECT_EQ(both.client_side.received, 4u);
        EXPECT_EQ(both.r.stats(client, nic_tx).packets, 4u);
        EXPECT_EQ(both.r.stats(server, nic_tx).packets, 4u);
        EXPECT_EQ(both.r.stats(client, disp_tx).tx_bytes, 4u * (frame_header_bytes + hello_bytes));
        EXPECT_TRUE(both.r.drops(client).empty() && both.r.drops(server).empty());
    }
}

// A response that came after the client's end would be a packet that the server sent and nobody received.
TEST(hellos, end_with_the_server_s_last_word) {
    two_hosts both;
    both.send_hello(session_state::hello);
    for (int again = 0; again < 2; ++again) both.send_hello(session_state::finished);
    EXPECT_EQ(both.client_side.sent, 2u);
    EXPECT_EQ(both.r.stats(client, nic_tx).packets, 2u);
    EXPECT_EQ(both.r.stats(server, nic_tx).packets, 2u);
}

// A batch of one, an ARP request and a hello that are due, and messages that wait: two packets used up a room
// of less than none.
TEST(hellos, count_in_the_batch) {
    two_hosts both;
    dispatcher &d = both.r.disp(client);
    both.r.f.signals.sending = true;
    both.r.run(client, app_tx);
    d.batch_tx = 1;
    d.control.resolver->ask = true;
    both.client_side.round++;
    for (int call = 0; call < 6; call++) EXPECT_EQ(both.r.run(client, disp_tx).objects, 1u);
    EXPECT_FALSE(d.control.resolver->ask);
    EXPECT_EQ(both.client_side.sent, 1u);
}

TEST(hellos, are_valid_frames) {
    two_hosts both;
    both.client_side.round++;
    both.r.loop(client);
    const std::vector<byte_vector> frames = both.r.taken_off(server);
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(slow_ip_sum(frames[0]), 0xffffu);
    EXPECT_EQ(slow_udp_sum(frames[0]), 0xffffu);
    both.r.deliver(server, frames);
    both.r.loop(server);
    const std::vector<byte_vector> responses = both.r.taken_off(client);
    ASSERT_EQ(responses.size(), 1u);
    EXPECT_EQ(slow_ip_sum(responses[0]), 0xffffu);
    EXPECT_EQ(slow_udp_sum(responses[0]), 0xffffu);
}

// A packet handler may do anything with a packet, so it must not get the other host's hellos.
TEST(hellos, are_taken_before_a_packet_handler_gets_them) {
    for (const char *handler : {"echo", "drop", "l2fwd", "empty"}) {
        json plan = rig_plan();
        plan["workloads"][0]["packet_handler"] = {{"name", handler}, {"options", json::object()}};
        two_hosts both(plan);
        both.send_hello(session_state::hello);
        EXPECT_EQ(both.client_side.peer, 8u) << handler;
        EXPECT_EQ(both.r.stats(server, disp_rx).rx_bytes, frame_header_bytes + hello_bytes);
        EXPECT_TRUE(both.r.drops(server).empty());
    }
}

TEST(hellos, that_are_malformed_are_dropped_with_a_reason) {
    two_hosts both;
    hello strange = both.from_client();
    strange.client = 0;
    const hello stray = both.from_client(session_state::go), response = both.server_side.us;
    both.r.deliver(
        server,
        {both.hello_frame(server, strange), both.hello_frame(server, both.from_client(), 20),
         both.hello_frame(server, both.from_client(), hello_bytes + 1), both.hello_frame(server, stray)});
    both.r.deliver(client, {both.hello_frame(client, response)});
    both.r.loops(2);
    EXPECT_EQ(both.r.drops(server), (counts{{"bad_hello", 3}, {"stray_hello", 1}}));
    EXPECT_EQ(both.r.drops(client), (counts{{"bad_hello", 1}}));  // it names no client
    EXPECT_EQ(both.server_side.peer, 0u);
}

TEST(hellos, to_a_run_without_another_host_are_dropped_with_a_reason) {
    two_hosts both;
    both.r.disp(server).control.handshake = nullptr;
    both.r.deliver(server, {both.hello_frame(server, both.from_client())});
    both.r.loops(2);
    EXPECT_EQ(both.r.drops(server), (counts{{"bad_message_header", 1}}));
}

// The response to a short hello of another version has full length.
TEST(hellos, of_another_version_get_a_response) {
    two_hosts both;
    hello other = both.from_client();
    other.version = 9;
    both.r.deliver(server, {both.hello_frame(server, other, hello_stable_bytes)});
    both.r.loop(server);
    const std::vector<byte_vector> responses = both.r.taken_off(client);
    ASSERT_EQ(responses.size(), 1u);
    hello told;
    ASSERT_TRUE(hello_read(responses[0].data() + frame_header_bytes, hello_bytes, &told));
    EXPECT_EQ(told.status, session_status::other_version);
    EXPECT_EQ(both.r.drops(server), (counts{{"refused_hello", 1}}));
    EXPECT_EQ(slow_udp_sum(responses[0]), 0xffffu);
}

TEST(hellos, a_flood_without_room_is_dropped_with_a_reason) {
    json plan = rig_plan();
    plan["endpoints"][client]["port"]["rx_descriptors"] = 2;  // towards the client: room for two
    two_hosts both(plan);
    for (int i = 0; i < 12; i++) {
        both.r.deliver(server, std::vector<byte_vector>(16, both.hello_frame(server, both.from_client())));
        both.r.loop(server);
    }
    EXPECT_GT(both.r.drops(server).at("reply_no_room"), 0u);
    EXPECT_EQ(both.r.drops(server).size(), 1u);
}

}  // namespace
}  // namespace wt::test::stages_hello_test
