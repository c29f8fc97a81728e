// app_tx with copies from a source, and what checks the bodies of requests.
#include <rte_pause.h>

#include "copying_rig.h"
#include "parts/copies/accounts.h"
#include "test_tools.h"

namespace wt::test::copying_test {
namespace {

const needs_eal eal(128, 2);

TEST(copying, a_packet_leaves_when_its_copy_has_ended) {
    copying_rig r(copying_plan());
    const call_result first = r.run(client, app_tx);
    EXPECT_EQ(first.objects, 0u);
    EXPECT_TRUE(first.worked);
    EXPECT_EQ(first.stalled, not_stalled);
    EXPECT_EQ(r.hand.running.size(), 32u);
    const call_result held = r.run(client, app_tx);  // the in-flight budget is used up
    EXPECT_EQ(held.stalled, for_copies);
    EXPECT_EQ(r.on_the_ring(), 0u);
    r.hand.may_end = 5;
    EXPECT_EQ(r.run(client, app_tx).objects, 5u);
    EXPECT_EQ(r.on_the_ring(), 5u);
    r.hand.may_end = UINT32_MAX;
    r.loops(20);
    EXPECT_GT(r.checked().packets, 200u);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
    EXPECT_EQ(r.stats(client, app_rx).responses, r.checked().packets);
    EXPECT_EQ(r.copies().completion.total, r.copies().copies);
}

TEST(copying, with_wait_all_none_leaves_before_the_last_copy_of_its_burst) {
    for (const json &plan : {copying_plan({{"way", "wait_all"}}), naming_plan({{"way", "wait_all"}})}) {
        copying_rig r(plan);
        r.begin();
        r.hand.may_end = 31;
        EXPECT_EQ(r.call().objects, 0u);
        EXPECT_EQ(r.call().stalled, for_copies);
        EXPECT_EQ(r.on_the_ring(), 0u);
        EXPECT_EQ(r.copying().pending.running, 1u);
        r.hand.may_end = 1;
        EXPECT_EQ(r.call().objects, r.has_source() ? 32u : 0u) << "requests count when they are taken";
        EXPECT_EQ(r.on_the_ring(), 32u);
    }
}

TEST(copying, no_more_run_at_once_than_the_depth) {
    copying_rig r(copying_plan({{"depth", 6}, {"batch", 4}}));
    r.run(client, app_tx);
    EXPECT_EQ(r.hand.running.size(), 6u);
    r.hand.may_end = 3;
    r.run(client, app_tx);
    EXPECT_EQ(r.hand.running.size(), 6u);
    EXPECT_EQ(r.copying().submitted, 9u);
    EXPECT_EQ(r.copying().ended, 3u);
}

TEST(copying, a_poll_takes_a_batch_at_most) {
    copying_rig r(copying_plan({{"batch", 4}}));
    r.run(client, app_tx);
    r.hand.may_end = UINT32_MAX;
    EXPECT_EQ(r.run(client, app_tx).objects, 4u);
}

TEST(copying, what_finds_no_room_is_copied_by_the_cpu) {
    copying_rig r(copying_plan());
    r.hand.room = 10;
    r.run(client, app_tx);
    EXPECT_EQ(r.hand.running.size(), 10u);
    EXPECT_EQ(r.by_cpu(copy_reason::no_room), 22u);
    r.hand.may_end = r.hand.room = UINT32_MAX;
    r.loops(20);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
}

TEST(copying, what_fails_is_copied_by_the_cpu) {
    copying_rig r(copying_plan());
    r.hand.how = copy_end::failed;
    r.hand.may_end = UINT32_MAX;
    r.loops(10);
    EXPECT_GT(r.by_cpu(copy_reason::failed), 32u);
    EXPECT_EQ(r.copies().copies, 0u);
    EXPECT_EQ(r.checked().packets, r.by_cpu(copy_reason::failed));
    EXPECT_EQ(r.checked().wrong_packets, 0u);
    r.hand.how = copy_end::well;
    EXPECT_EQ(r.copies().sizes.total, r.copies().copies) << "what failed is of no size";
}

TEST(copying, small_copies_are_left_to_the_cpu) {
    copying_rig r(copying_plan({{"at_least_bytes", 985}}));  // a body has 984
    r.loops(10);
    EXPECT_TRUE(r.hand.running.empty());
    EXPECT_GT(r.by_cpu(copy_reason::small), 32u);
    EXPECT_EQ(r.copies().bytes, 984 * r.by_cpu(copy_reason::small));
    EXPECT_EQ(r.checked().wrong_packets, 0u);
}

// One that says it has copied what it has not: 984 bytes of each packet.
TEST(copying, every_packet_of_a_lying_copier_is_found) {
    for (const auto &[plan, first] : {std::pair{copying_plan(), 0u}, std::pair{naming_plan(), 16u}}) {
        copying_rig r(plan);
        r.hand.copies = false;
        r.hand.may_end = UINT32_MAX;
        r.loops(10);
        EXPECT_GT(r.checked().packets, 32u);
        EXPECT_EQ(r.checked().wrong_packets, r.checked().packets);
        EXPECT_EQ(r.checked().wrong_bytes, 984 * r.checked().packets);
        EXPECT_EQ(r.checked().first.offset, first);
    }
}

TEST(copying, one_wrong_byte_is_found_in_its_place) {
    copying_rig r(copying_plan());
    r.run(client, app_tx);
    r.hand.may_end = 32;
    r.run(client, app_tx);
    rte_mbuf *m = nullptr;
    packet_ring &ring = *r.app(client).links[0]->to_dispatcher;
    ASSERT_EQ(ring.take(&m, 1), 1u);
    *rte_pktmbuf_mtod_offset(m, uint8_t *, body_offset + 700) ^= 1;
    ASSERT_EQ(ring.put(&m, 1), 1u);
    r.hand.may_end = UINT32_MAX;
    r.loops(2);
    EXPECT_EQ(r.checked().wrong_packets, 1u);
    EXPECT_EQ(r.checked().wrong_bytes, 1u);
    EXPECT_EQ(r.checked().first.offset, 700u);
}

TEST(copying, a_copier_that_never_ends_is_given_up_and_its_mbufs_are_not_used_again) {
    copying_rig r(copying_plan({{"timeout_ns", 1}}, {{"timeout_ns", 1'000'000'000'000}}));
    body_copying &c = r.copying();
    r.run(client, app_tx);
    r.run(client, app_tx);
    EXPECT_TRUE(c.gave_up);
    EXPECT_EQ(r.copies().never_ended, 32u);
    EXPECT_EQ(abandoned_mbufs(r.f, r.f.pools[client]), 32u);
    EXPECT_EQ(c.pending.count(), 0u);
    EXPECT_EQ(rte_mempool_avail_count(r.f.pools[client]), 511u - 32u);
    // for the test's own account: the messages are lost, and the copier is known to be gone
    rte_pktmbuf_free_bulk(c.abandoned.data(), 32);
    c.abandoned.clear();
    r.hand.running.clear();
}

TEST(copying, after_a_copier_is_given_up_the_cpu_copies) {
    copying_rig r(copying_plan());
    r.copying().gave_up = true;
    r.loops(10);
    EXPECT_TRUE(r.hand.running.empty());
    EXPECT_GT(r.by_cpu(copy_reason::gave_up), 32u);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
}

TEST(copying, before_a_hold_all_copies_end_and_no_packet_moves) {
    copying_rig r(copying_plan());
    stage &s = r.at(client, app_tx);
    ASSERT_NE(s.before_hold, nullptr);
    r.run(client, app_tx);
    r.hand.may_end = UINT32_MAX;
    s.before_hold(s.own_role, *s.current);
    EXPECT_EQ(r.copying().pending.running, 0u);
    EXPECT_EQ(r.on_the_ring(), 0u);
    EXPECT_EQ(r.run(client, app_tx).objects, 32u);
    EXPECT_EQ(r.at(server, app_rx).before_hold, nullptr);
}

TEST(copying, packets_that_still_wait_at_the_end_have_an_owner) {
    copying_rig r(copying_plan());
    r.run(client, app_tx);
    r.hand.may_end = 40;
    finish_all_copies(r.f);
    free_pending(r.f);
    EXPECT_EQ(rte_mempool_avail_count(r.f.pools[client]), 511u);
}

// A request of many segments, cut at the MTU, whose packets come from their own parts of the source.
TEST(copying, long_requests_are_cut_and_copied) {
    for (const char *way : {"pipelined", "wait_all"}) {
        copying_rig r(copying_plan({{"way", way}, {"depth", 8}, {"batch", 4}},
                                   {{"request_bytes", 20000}, {"request_sizes", nullptr}}));
        r.hand.may_end = UINT32_MAX;
        r.loops(200);
        EXPECT_GT(r.stats(client, app_rx).responses, 5u) << way;
        EXPECT_GT(r.checked().packets, 14 * r.stats(client, app_rx).responses - 1) << way;
        EXPECT_EQ(r.checked().wrong_packets, 0u) << way;
    }
}

TEST(copying, requests_of_many_sizes_are_copied) {
    const json sizes = {
        {"kind", "sequence"}, {"bytes", {16, 17, 86, 3000, 1000}}, {"weights", json::array()}};
    copying_rig r(copying_plan(json::object(), {{"request_bytes", 3000}, {"request_sizes", sizes}}));
    r.hand.may_end = UINT32_MAX;
    r.loops(100);
    EXPECT_GT(r.stats(client, app_rx).responses, 100u);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
}

TEST(copying, without_mbufs_app_tx_stalls) {
    copying_rig r(copying_plan());
    r.hoard(client, 0);
    EXPECT_EQ(r.run(client, app_tx).stalled, for_mbufs);
    EXPECT_EQ(r.stats(client, app_tx).sent, 0u);
}

TEST(copying, is_refused_in_words) {
    const auto refusal_of = [](const json &copies) {
        return test::refusal_of([&] { copying_rig r(copying_plan(copies), false); });
    };
    EXPECT_TRUE(refusal_of({{"engine", "dsa"}}).starts_with("no copier is called \"dsa\"; there are cpu, "));
    EXPECT_EQ(refusal_of({{"engine", "cpu"}, {"options", {{"fast", "1"}}}}),
              "cpu has no option 'fast'; it has none");
    EXPECT_EQ(refusal_of({{"engine", "planted"}, {"options", {{"engine", "planted"}}}}),
              "planted: works on another copier, not on itself");
    EXPECT_EQ(refusal_of({{"engine", "planted"}, {"options", {{"share", "2"}}}}),
              "planted: share = \"2\" is not a number from 0 to 1");
    EXPECT_EQ(refusal_of({{"engine", "dma"}, {"options", {{"device", "nobody"}}}}),
              "dma: no device \"nobody\"; EAL has found none");
    EXPECT_EQ(refusal_of({{"engine", "dma"}, {"lcores", {77}}}), "dma: lcore 77 is not one of EAL's");
    EXPECT_EQ(refusal_of({{"engine", "dma"}, {"depth", 8192}}),
              "dma: 8192 copies at once, it takes at most 8191");
}

// The steps of a call are of the run's time: this copier keeps the CPU for a million ticks, and holds the
// run.
TEST(copying, for_what_a_copier_holds_the_run_is_in_no_step) {
    copying_rig r(copying_plan());
    body_copying &c = r.copying();
    c.channel.submit = [](void *state, const copy_piece *pieces, uint32_t count) {
        const uint64_t since = rte_rdtsc();
        while (rte_rdtsc() - since < 1'000'000) rte_pause();
        take_exactly(0, since);
        return by_hand::submit(state, pieces, count);
    };
    const uint64_t held = held_ticks, real = rte_rdtsc();
    c.steps->now = c.steps->taken.data();
    r.call();
    c.steps->now = nullptr;
    const wt_step &submit = c.steps->taken[c.steps->added_from];
    EXPECT_EQ(submit.packets, 32u);
    EXPECT_GE(held_ticks - held, 1'000'000u);
    EXPECT_LE(submit.cycles + (held_ticks - held), rte_rdtsc() - real);
}

// DPDK's software engine, a thread of its own.
TEST(copying, a_dma_engine_copies_beside_the_worker) {
    copying_rig r(copying_plan({{"engine", "dma"}, {"lcores", {1}}}), false);
    body_copying &c = r.copying();
    EXPECT_STREQ(copier_kind_names[static_cast<int>(c.channel.kind)], "core");
    EXPECT_GT(c.channel.thread, 0);
    for (int i = 0; i < 1'000'000 && r.checked().packets < 500; i++) r.loops(1);
    EXPECT_GE(r.checked().packets, 500u);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
    EXPECT_TRUE(finish_copies(c, r.copies(), UINT64_MAX));
    const driver_copies driver = c.channel.driver(c.channel.state);
    EXPECT_EQ(driver.submitted, c.submitted);
    EXPECT_EQ(driver.completed, c.ended);
    EXPECT_EQ(r.copies().copies, c.ended);
}

}  // namespace
}  // namespace wt::test::copying_test
