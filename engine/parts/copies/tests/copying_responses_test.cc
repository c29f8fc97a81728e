// app_rx with copies that a handler names, and what checks the bodies of responses.
#include <functional>
#include <numeric>

#include "copying_rig.h"
#include "parts/copies/accounts.h"

namespace wt::test::copying_responses_test {
namespace {

const needs_eal eal(128, 2);

TEST(naming, a_response_leaves_when_its_copy_has_ended) {
    copying_rig r(naming_plan());
    r.send();
    const call_result first = r.call();
    EXPECT_EQ(first.objects, 32u);  // requests
    EXPECT_EQ(r.hand.running.size(), 32u);
    EXPECT_EQ(r.hand.running.front().bytes, 984u);
    EXPECT_EQ(r.on_the_ring(), 0u);
    EXPECT_EQ(r.call().stalled, for_copies);
    r.hand.may_end = 5;
    const call_result went_on = r.call();
    EXPECT_TRUE(went_on.worked && went_on.objects == 0) << "requests count once";
    EXPECT_EQ(r.stats(server, app_rx).unmoved_calls, 1u);
    EXPECT_EQ(r.on_the_ring(), 5u);
    r.hand.may_end = UINT32_MAX;
    r.loops(20);
    EXPECT_GT(r.checked().packets, 200u);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
    EXPECT_EQ(r.stats(client, app_rx).responses, r.checked().packets);
    EXPECT_EQ(r.copies().completion.total, r.copies().copies);
    EXPECT_EQ(r.copies().sizes.total, r.copies().copies);
    EXPECT_EQ(r.copies().sizes.sum, 984 * r.copies().copies);
    EXPECT_EQ(r.copies().bytes, 984 * r.copying().submitted);
}

TEST(naming, goes_by_the_rules_of_depth_and_batch) {
    copying_rig r(naming_plan({{"depth", 6}, {"batch", 4}}));
    r.begin();
    EXPECT_EQ(r.hand.running.size(), 6u);
    r.hand.may_end = UINT32_MAX;
    r.call();
    EXPECT_EQ(r.on_the_ring(), 4u) << "a poll takes a batch at most";
}

TEST(naming, no_request_is_taken_while_responses_wait_for_their_copies) {
    json p = naming_plan({{"depth", 1}, {"batch", 1}}, {{"client_slots", 64}});
    p["endpoints"][0]["applications"][0]["inflight"] = 64;
    copying_rig r(p);
    r.send();
    EXPECT_EQ(r.call().objects, 32u);
    r.send();
    const uint32_t waiting = r.app(server).links[0]->to_application->used();
    ASSERT_GT(waiting, 0u);
    EXPECT_EQ(r.call().stalled, for_copies);
    EXPECT_EQ(r.app(server).links[0]->to_application->used(), waiting);
}

// A call that found no finished copy is no work of the copies.
TEST(naming, the_steps_of_a_stalled_call_are_forgotten) {
    copying_rig r(naming_plan());
    handler_steps &steps = *r.copying().steps;
    steps.now = steps.taken.data();
    r.begin();
    EXPECT_EQ(steps.taken[0].packets, 32u);
    steps.taken.fill({});
    EXPECT_EQ(r.call().stalled, for_copies);
    for (const wt_step &step : steps.taken) EXPECT_EQ(step.stamps, 0u);
    steps.now = nullptr;
}

// So that each books its own, whatever their names.
TEST(naming, the_steps_of_a_copier_stand_behind_those_of_its_handler) {
    const std::string handler = std::string(std::getenv("WT_TEST_PLUGINS")) + "/names_copies.so";
    json p = naming_plan({{"engine", "planted"}, {"verify", false}},
                         {{"handler", {{"name", handler}, {"options", json::object()}}}});
    p["accounting"]["level"] = "sampled";
    copying_rig r(p);
    nlohmann::ordered_json lines;
    add_steps(lines, r.at(server, app_rx), r.stats(server, app_rx), side::server);
    std::vector<std::pair<std::string, bool>> named;
    for (const auto &line : lines) named.emplace_back(line["step"], line["copier"]);
    EXPECT_EQ(
        named,
        (decltype(named){
            {"look", false}, {"submit", false}, {"submit", true}, {"poll", true}, {"copy by CPU", true}}));
    handler_steps &steps = *r.copying().steps;
    steps.now = steps.taken.data();
    r.begin();
    r.hand.may_end = 5;
    r.call();
    std::vector<uint64_t> packets;
    for (size_t i = 0; i < named.size(); i++) packets.push_back(steps.taken[i].packets);
    EXPECT_EQ(packets, (std::vector<uint64_t>{32, 64, 32, 5, 0}));
    steps.now = nullptr;
}

// Responses of many segments, of many sizes, in mbufs of their own or in their request's, and with a request
// of many segments.
TEST(naming, every_shape_of_a_response_is_copied_right) {
    const json sizes = {
        {"kind", "sequence"}, {"bytes", {16, 17, 32, 33, 86, 3000, 9000}}, {"weights", json::array()}};
    for (const char *way : {"pipelined", "wait_all"})
        for (const char *mbuf : {"request", "new"})
            for (const int request : {17, 22, 86, 4000})
                for (const bool vary : {false, true}) {
                    json p = naming_plan({{"way", way}, {"depth", 8}, {"batch", 4}},
                                         {{"request_bytes", request}, {"response_bytes", 9000}});
                    if (vary) p["workloads"][0]["response_sizes"] = sizes;
                    p["endpoints"][1]["response_mbuf"] = mbuf;
                    copying_rig r(p);
                    r.hand.may_end = UINT32_MAX;
                    r.loops(300);
                    EXPECT_GT(r.stats(client, app_rx).responses, 5u) << way << mbuf << request << vary;
                    EXPECT_GE(r.checked().packets, r.stats(client, app_rx).responses);
                    EXPECT_EQ(r.checked().wrong_packets, 0u) << way << mbuf << request << vary;
                }
}

TEST(naming, loops_of_the_cpu_copy_at_once) {
    for (const std::string &engine : loops_of_the_cpu())
        for (const int bytes : {33, 86, 1000, 3000}) {
            copying_rig r(naming_plan({{"engine", engine}}, {{"response_bytes", bytes}}), false);
            r.send();
            EXPECT_EQ(r.call().objects, 32u) << engine << bytes;
            EXPECT_GT(r.on_the_ring(), 30u);
            r.loops(30);
            EXPECT_GT(r.checked().packets, 100u);
            EXPECT_EQ(r.checked().wrong_packets, 0u) << engine << bytes;
        }
}

// Bytes that are right elsewhere: every packet gets the copy of the packet behind it.
TEST(naming, the_bytes_of_another_message_are_wrong) {
    copying_rig r(naming_plan());
    r.begin();
    ASSERT_EQ(r.hand.running.size(), 32u);
    const uint8_t *const first = r.hand.running.front().from;
    for (size_t i = 0; i + 1 < 32; i++) r.hand.running[i].from = r.hand.running[i + 1].from;
    r.hand.running.back().from = first;
    r.hand.may_end = 32;
    r.call();
    r.hand.may_end = UINT32_MAX;
    r.f.signals.sending = false;
    r.loops(5);
    EXPECT_EQ(r.checked().packets, 32u);
    EXPECT_EQ(r.checked().wrong_packets, 32u);
}

TEST(naming, one_wrong_byte_is_found_in_its_place) {
    for (const uint32_t at : {0u, 15u, 16u, 999u}) {  // of the head, too
        copying_rig r(naming_plan());
        r.send();
        r.hand.may_end = UINT32_MAX;
        r.call();
        r.call();
        rte_mbuf *m = nullptr;
        packet_ring &ring = *r.app(server).links[0]->to_dispatcher;
        ASSERT_EQ(ring.take(&m, 1), 1u);
        *rte_pktmbuf_mtod_offset(m, uint8_t *, body_offset + at) ^= 1;
        ASSERT_EQ(ring.put(&m, 1), 1u);
        r.loops(2);
        EXPECT_EQ(r.checked().wrong_packets, 1u);
        EXPECT_EQ(r.checked().wrong_bytes, 1u);
        EXPECT_EQ(r.checked().first.offset, at);
    }
}

TEST(naming, a_late_response_is_not_checked_against_another_request) {
    copying_rig r(naming_plan(json::object(), {{"timeout_ns", 1000}}));
    r.send();
    r.call();  // and its copies run until after the requests have timed out
    r.hand.may_end = UINT32_MAX;
    for (int i = 0; i < 2000; i++) r.loops(1);
    EXPECT_GT(r.stats(client, app_rx).late, 0u);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
}

TEST(naming, without_mbufs_the_server_stalls_and_takes_nothing_more) {
    json p = naming_plan();
    p["endpoints"][1]["response_mbuf"] = "new";
    copying_rig r(p);
    r.hand.may_end = UINT32_MAX;
    r.send();
    r.hoard(server, 0);
    EXPECT_EQ(r.call().objects, 32u);
    EXPECT_EQ(r.call().stalled, for_mbufs);
    EXPECT_TRUE(r.hand.running.empty());
    r.give_back();
    r.loops(20);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
    EXPECT_GT(r.checked().packets, 32u);
}

TEST(naming, a_copier_that_never_ends_is_given_up_and_its_mbufs_are_not_used_again) {
    for (const char *mbuf : {"request", "new"}) {
        json p = naming_plan({{"timeout_ns", 1}}, {{"timeout_ns", 1'000'000'000'000}});
        p["endpoints"][1]["response_mbuf"] = mbuf;
        copying_rig r(p);
        body_copying &c = r.copying();
        r.begin();
        r.call();
        EXPECT_TRUE(c.gave_up);
        EXPECT_EQ(r.copies().never_ended, 32u);
        // on this wire requests change hands: theirs are the client's
        const bool are_clients = std::string(mbuf) == "request";
        EXPECT_EQ(abandoned_mbufs(r.f, r.f.pools[client]), are_clients ? 32u : 0u);
        EXPECT_EQ(abandoned_mbufs(r.f, r.f.pools[server]), are_clients ? 0u : 32u);
        // for the test's own account
        rte_pktmbuf_free_bulk(c.abandoned.data(), 32);
        c.abandoned.clear();
        r.hand.running.clear();
        r.loops(10);
        EXPECT_TRUE(r.hand.running.empty());
        EXPECT_EQ(r.checked().wrong_packets, 0u);
    }
}

TEST(naming, before_a_hold_all_copies_end_and_no_packet_moves) {
    copying_rig r(naming_plan());
    stage &s = r.at(server, app_rx);
    ASSERT_NE(s.before_hold, nullptr);
    EXPECT_EQ(r.at(client, app_tx).before_hold, nullptr);
    r.begin();
    r.hand.may_end = UINT32_MAX;
    s.before_hold(s.own_role, *s.current);
    EXPECT_EQ(r.copying().pending.running, 0u);
    EXPECT_EQ(r.on_the_ring(), 0u);
    r.call();
    EXPECT_EQ(r.on_the_ring(), 32u);
}

TEST(naming, packets_that_still_wait_at_the_end_have_an_owner) {
    copying_rig r(naming_plan());
    r.begin();
    r.hand.may_end = 40;
    finish_all_copies(r.f);
    const unsigned before = rte_mempool_avail_count(r.f.pools[client]);
    free_pending(r.f);
    EXPECT_EQ(rte_mempool_avail_count(r.f.pools[client]), before + 32u);
}

TEST(naming, a_dma_engine_copies_beside_the_worker) {
    copying_rig r(naming_plan({{"engine", "dma"}, {"lcores", {1}}}), false);
    for (int i = 0; i < 1'000'000 && r.checked().packets < 500; i++) r.loops(1);
    EXPECT_GE(r.checked().packets, 500u);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
    body_copying &c = r.copying();
    EXPECT_TRUE(finish_copies(c, r.copies(), UINT64_MAX));
    EXPECT_EQ(c.channel.driver(c.channel.state).completed, c.ended);
}

// A handler that names what nobody expects: several pieces, in no order, some across packets, some too long,
// more than there is room for; or nothing.
namespace odd {

std::vector<uint8_t> bytes(9000);
std::function<void(wt_exchange &)> names;

int open(const wt_open *, void **state) {
    *state = nullptr;
    return 0;
}
void message(void *, wt_exchange *burst, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) names(burst[i]);
}
const wt_handler handler = {.abi = WT_HANDLER_ABI,
                            .size = sizeof(wt_handler),
                            .name = "odd",
                            .help = "odd",
                            .kind = WT_MESSAGE_HANDLER,
                            .flags = WT_NAMES_COPIES,
                            .open = open,
                            .message = message};

// The bodies of the next responses, one after the other.
std::vector<byte_vector> responses(copying_rig &r, size_t packets) {
    r.app(server).handler = &handler;
    r.send();
    std::vector<byte_vector> bodies;
    for (int i = 0; i < 200; i++) {
        r.call();
        rte_mbuf *m;
        while (r.app(server).links[0]->to_dispatcher->take(&m, 1) == 1) {
            const auto *body = rte_pktmbuf_mtod_offset(m, const uint8_t *, body_offset);
            if (bodies.size() < packets) bodies.emplace_back(body, body + m->pkt_len - body_offset);
            rte_pktmbuf_free(m);
        }
    }
    return bodies;
}

}  // namespace odd

json odd_plan(const json &copies, uint32_t response) {
    return naming_plan(copies, {{"response_bytes", response + 16}, {"timeout_ns", 1'000'000'000'000}});
}

TEST(naming, several_copies_of_a_response_go_where_they_are_named) {
    std::iota(odd::bytes.begin(), odd::bytes.end(), uint8_t{1});
    odd::names = [](wt_exchange &x) {
        for (uint32_t i = 0; i < x.response.segment_count; i++)
            std::memset(x.response.segments[i].data, 0xee, x.response.segments[i].length);
        wt_response_copy(&x, 2900, odd::bytes.data() + 7, 50);  // into the third packet
        wt_response_copy(&x, 1400, odd::bytes.data(), 200);     // across two
        wt_response_copy(&x, 0, odd::bytes.data() + 100, 3);
        wt_response_copy(&x, 10, odd::bytes.data() + 3, 0);  // nothing
        wt_response_copy(&x, 2990, odd::bytes.data(), 500);  // no more than fits
        wt_response_copy(&x, 5000, odd::bytes.data(), 5);    // nowhere
        wt_response_copy(&x, 20, odd::bytes.data() + 50, 30);
    };
    byte_vector expected(3000, 0xee);
    const auto put = [&](size_t at, size_t from, size_t count) {
        std::copy_n(odd::bytes.begin() + static_cast<ptrdiff_t>(from), count,
                    expected.begin() + static_cast<ptrdiff_t>(at));
    };
    put(2900, 7, 50), put(1400, 0, 200), put(0, 100, 3), put(2990, 0, 10), put(20, 50, 30);
    for (const uint32_t depth : {1u, 3u, 64u}) {
        copying_rig r(odd_plan({{"depth", depth}, {"verify", false}}, 3000));
        r.hand.may_end = UINT32_MAX;
        byte_vector body;
        for (const byte_vector &packet : odd::responses(r, 3))
            body.insert(body.end(), packet.begin(), packet.end());
        EXPECT_EQ(body, expected) << depth;
        EXPECT_EQ(r.copies().bytes % (50 + 200 + 3 + 10), 0u) << "the fifth one was made at once";
    }
}

TEST(naming, without_a_copier_no_byte_beyond_the_response_is_written) {
    byte_vector room(20, 0xee);
    const wt_segment segment{room.data(), 20};
    wt_exchange x{};
    x.response = {&segment, 1, 12};
    wt_response_copy(&x, 10, odd::bytes.data(), 5);
    EXPECT_EQ(std::count(room.begin(), room.end(), 0xee), 18) << "10 and 11 are the last ones";
}

TEST(naming, what_a_handler_cuts_off_or_does_not_send_is_not_copied) {
    odd::names = [n = 0](wt_exchange &x) mutable {
        wt_response_copy(&x, 0, odd::bytes.data(), 1000);
        x.response.length = 300;
        if (n++ % 2) x.flags |= WT_NO_RESPONSE;
    };
    copying_rig r(odd_plan({{"verify", false}}, 1000));
    r.hand.may_end = UINT32_MAX;
    const auto bodies = odd::responses(r, 16);
    ASSERT_EQ(bodies.size(), 16u);
    for (const byte_vector &body : bodies)
        EXPECT_EQ(body, byte_vector(odd::bytes.begin(), odd::bytes.begin() + 300));
    EXPECT_EQ(r.copies().copies, 16u);
    EXPECT_EQ(r.copies().bytes, 16 * 300u);
}

TEST(naming, a_response_without_copies_leaves_in_its_turn) {
    odd::names = [n = 0](wt_exchange &x) mutable {
        if (n++ % 2)
            wt_response_copy(&x, 0, odd::bytes.data(), 5);
        else
            std::memset(x.response.segments[0].data, 0x77, 5);
        x.response.length = 5;
    };
    copying_rig r(odd_plan({{"verify", false}}, 1000));
    r.app(server).handler = &odd::handler;
    r.begin();
    r.call();
    EXPECT_EQ(r.on_the_ring(), 1u) << "the first has no copy";
    r.hand.may_end = 3;
    r.call();
    EXPECT_EQ(r.on_the_ring(), 7u) << "three copies, and what stands between and behind them";
}

}  // namespace
}  // namespace wt::test::copying_responses_test
