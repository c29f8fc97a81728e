// Messages of many sizes, one stage after the other: what is drawn is sent, however short the mbufs are.
#include "stages_rig.h"

namespace wt::test::stages_sizes_test {
namespace {

const needs_eal eal(64);

constexpr stage_kind app_tx = stage_kind::app_tx, app_rx = stage_kind::app_rx;

json sequence(std::vector<uint32_t> sizes) {
    return {{"kind", "sequence"}, {"bytes", sizes}, {"weights", json::array()}};
}

json sized(std::vector<uint32_t> requests, std::vector<uint32_t> responses) {
    json plan = rig_plan();
    json &w = plan["workloads"][0];
    w["request_bytes"] = *std::max_element(requests.begin(), requests.end());
    w["response_bytes"] = *std::max_element(responses.begin(), responses.end());
    w["request_sizes"] = sequence(requests);
    w["response_sizes"] = sequence(responses);
    w["handler"]["name"] = "t_app";
    plan["endpoints"][0]["applications"][0]["inflight"] = 64;
    return plan;
}

// Message sizes of the frames on the wire towards an endpoint, segments added up; each message's stand
// together.
std::vector<uint32_t> sizes_towards(rig &r, size_t endpoint) {
    std::vector<uint32_t> sizes;
    for (const byte_vector &frame : r.taken_off(endpoint)) {
        const message_header h = message_header_read(frame.data() + frame_header_bytes);
        const uint32_t udp = uint32_t{frame[38]} << 8 | frame[39], body = udp - 8 - message_header_bytes;
        if (h.segment == 0)
            sizes.push_back(message_header_bytes + body);
        else
            sizes.back() += body;
    }
    return sizes;
}

TEST(sizes, a_burst_is_as_many_messages_as_fit) {
    rig r(sized({86, 4000, 16}, {86}));
    EXPECT_EQ(r.run(client, app_tx).objects, 31u);  // five packets a round
    EXPECT_EQ(r.stats(client, app_tx).sent, 19u)
        << "six rounds and 86; 4000 would have needed three packets more";
    while (r.run(client, app_tx).objects > 0) r.loop(client);
    r.loop(client);
    const std::vector<uint32_t> sent = sizes_towards(r, server);
    ASSERT_EQ(sent.size(), 64u);
    for (size_t i = 0; i < sent.size(); i++)
        EXPECT_EQ(sent[i], (std::vector<uint32_t>{86, 4000, 16})[i % 3]) << i;
}

TEST(sizes, a_size_without_mbufs_is_sent_later) {
    rig r(sized({86, 4000, 16}, {86}));
    r.hoard(client, 2);
    EXPECT_EQ(r.run(client, app_tx).objects, 1u);
    EXPECT_EQ(r.run(client, app_tx).stalled, for_mbufs);
    EXPECT_EQ(r.run(client, app_tx).stalled, for_mbufs);
    r.give_back();
    r.loop(client);
    r.loop(client);
    const std::vector<uint32_t> sent = sizes_towards(r, server);
    EXPECT_EQ((std::vector<uint32_t>{sent.begin(), sent.begin() + 4}),
              (std::vector<uint32_t>{86, 4000, 16, 86}));
}

TEST(sizes, responses_have_sizes_of_their_own) {
    for (const char *in : {"request", "new"}) {
        json plan = sized({86, 4000, 16}, {3000, 16, 90, 1400});
        plan["endpoints"][1]["response_mbuf"] = in;
        rig r(plan);
        r.run(client, app_tx);
        r.loop(client);
        for (int i = 0; i < 8; i++) r.loop(server);
        const std::vector<uint32_t> responses = sizes_towards(r, client);
        ASSERT_GT(responses.size(), 18u);
        for (size_t i = 0; i < responses.size(); i++)
            EXPECT_EQ(responses[i], (std::vector<uint32_t>{3000, 16, 90, 1400})[i % 4]) << i;
    }
}

TEST(sizes, of_responses_do_not_follow_those_of_requests) {
    json plan = sized({16, 86}, {16, 86});
    for (const char *sizes : {"request_sizes", "response_sizes"})
        plan["workloads"][0][sizes]["kind"] = "uniform";
    rig r(plan);
    size_cursor requests = *r.app(client).sending->sizes, responses = *r.app(server).responding->sizes;
    uint32_t alike = 0;
    for (int i = 0; i < 1000; i++) alike += size_next(requests) == size_next(responses);
    EXPECT_LT(alike, 50u);  // 14 of 1000 expected: one of 71 sizes
}

TEST(sizes, responses_of_one_segment_have_sizes_of_their_own) {
    rig r(sized({86, 400, 16}, {300, 16, 90}));
    r.loops(1);
    const std::vector<uint32_t> responses = sizes_towards(r, client);
    ASSERT_EQ(responses.size(), 32u);
    for (size_t i = 0; i < responses.size(); i++)
        EXPECT_EQ(responses[i], (std::vector<uint32_t>{300, 16, 90})[i % 3]) << i;
}

TEST(sizes, a_request_of_one_segment_above_the_largest_is_dropped) {
    rig r(sized({86, 400, 16}, {16}));
    r.deliver(server, {r.request(0, 1, 0, 1, 0), r.request(1, 1, 0, 1, 384), r.request(2, 1, 0, 1, 385)});
    r.loop(server);
    EXPECT_EQ(r.drops(server), (counts{{"bad_segment_length", 1}}));
    EXPECT_EQ(sizes_towards(r, client).size(), 2u);
}

TEST(sizes, fixed_requests_stay_fixed_with_varied_responses) {
    json plan = sized({86}, {16, 90});
    plan["workloads"][0]["request_sizes"] = nullptr;
    rig r(plan);
    r.deliver(server, {r.request(0, 1), r.request(1, 1, 0, 1, 69), r.request(2, 1, 0, 1, 71)});
    r.loop(server);
    EXPECT_EQ(r.drops(server), (counts{{"bad_segment_length", 2}}));
    EXPECT_EQ(sizes_towards(r, client), std::vector<uint32_t>{16});
}

}  // namespace
}  // namespace wt::test::stages_sizes_test
