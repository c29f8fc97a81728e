// The table of messages in flight: which response is right, late or a duplicate; budgets that are returned.
#include "core/inflight.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <thread>

namespace wt::test::inflight_test {
namespace {

// As app_tx: takes a free slot, if there is one, and puts it in flight at `time`.
bool send(inflight_table &t, uint64_t time, message_header *h) {
    uint32_t index;
    if (t.free.take(&index, 1) == 0) return false;
    inflight_slot &slot = t.slots[index];
    slot.sent = slot.intended = time;
    const uint32_t generation = slot.generation.load() + 1;
    slot.generation.store(generation, std::memory_order_release);
    *h = {message_kind::response, 0, 0, index, generation, 0, 1};
    return true;
}

response_outcome response(inflight_table &t, const message_header &h, uint32_t segments = 1) {
    inflight_slot *slot = nullptr;
    inflight_slot *const expected = inflight_expected(t.slots, uint64_t{h.slot} << 32 | h.generation);
    const response_outcome o = inflight_response(t, h, segments, &slot);
    if (h.segments == 1 && h.segment == 0) {
        EXPECT_EQ(expected != nullptr, o == response_outcome::complete) << "both ways agree";
    }
    if (o == response_outcome::complete) {
        const uint32_t index = h.slot;
        inflight_retire(t, index, false);
        inflight_give_back(t, &index, 1);
    }
    return o;
}

// The second message of a slot has a generation behind the end of the numbers.
constexpr uint32_t first_generation = 0xfffffffe;

TEST(inflight, response_gives_the_budget_back) {
    inflight_table t("t", 1, 1, first_generation);
    message_header h, none;
    ASSERT_TRUE(send(t, 0, &h));
    EXPECT_FALSE(send(t, 0, &none));
    EXPECT_EQ(inflight_count(t), 1u);
    EXPECT_EQ(response(t, h), response_outcome::complete);
    EXPECT_EQ(inflight_count(t), 0u);
    EXPECT_TRUE(send(t, 0, &none));
}

TEST(inflight, copy_of_a_response_is_a_duplicate_even_when_the_slot_is_reused) {
    inflight_table t("t", 1, 1, first_generation);
    message_header first, second;
    ASSERT_TRUE(send(t, 0, &first));
    EXPECT_EQ(response(t, first), response_outcome::complete);
    EXPECT_EQ(response(t, first), response_outcome::duplicate);
    ASSERT_TRUE(send(t, 0, &second));
    EXPECT_EQ(response(t, first), response_outcome::duplicate);
    EXPECT_EQ(response(t, second), response_outcome::complete);
}

TEST(inflight, a_response_to_no_message_is_neither_late_nor_a_duplicate) {
    inflight_table t("t", 2, 1, first_generation);
    message_header sent, next;
    ASSERT_TRUE(send(t, 0, &sent));
    EXPECT_EQ(response(t, sent), response_outcome::complete);
    ASSERT_TRUE(send(t, 0, &next));
    for (const uint32_t stranger :
         {sent.generation - 2, next.generation + 2, 1 + (next.generation ^ 1u << 31)}) {
        message_header h = next;
        h.generation = stranger | 1;
        EXPECT_EQ(response(t, h), response_outcome::bad_slot) << stranger;
    }
    EXPECT_EQ(response(t, sent), response_outcome::duplicate);
    EXPECT_EQ(inflight_count(t), 1u);
}

TEST(inflight, response_after_the_timeout_is_late_even_when_the_slot_is_reused) {
    inflight_table t("t", 1, 1, first_generation);
    message_header lost, next;
    ASSERT_TRUE(send(t, 100, &lost));
    EXPECT_EQ(inflight_expire(t, 150, 50, 1), 0u);
    EXPECT_EQ(inflight_expire(t, 151, 50, 1), 1u);
    EXPECT_EQ(response(t, lost), response_outcome::late);
    ASSERT_TRUE(send(t, 200, &next));
    EXPECT_EQ(response(t, lost), response_outcome::late);
    EXPECT_EQ(response(t, next), response_outcome::complete);
    EXPECT_EQ(response(t, lost), response_outcome::late);
}

TEST(inflight, response_with_a_future_generation_or_invalid_slot_is_refused) {
    inflight_table t("t", 4, 1, first_generation);
    message_header h;
    ASSERT_TRUE(send(t, 0, &h));
    message_header wrong = h;
    wrong.slot = 4;
    EXPECT_EQ(response(t, wrong), response_outcome::bad_slot);
    wrong = h;
    wrong.generation += 2;
    EXPECT_EQ(response(t, wrong), response_outcome::bad_slot);
    wrong.generation = h.generation + 1;
    EXPECT_EQ(response(t, wrong), response_outcome::bad_slot);
    wrong = h;
    wrong.segments = 2;
    EXPECT_EQ(response(t, wrong), response_outcome::bad_segment);
    EXPECT_EQ(response(t, h), response_outcome::complete);
}

TEST(inflight, many_segments_in_any_order_with_copies) {
    constexpr uint16_t segments = 150;
    inflight_table t("t", 2, segments, first_generation);
    std::mt19937 random(1);
    for (int message = 0; message < 50; message++) {
        message_header h;
        ASSERT_TRUE(send(t, 0, &h));
        h.segments = segments;
        std::vector<uint16_t> order;
        for (uint16_t i = 0; i < segments; i++) order.insert(order.end(), 1 + random() % 2, i);
        std::shuffle(order.begin(), order.end(), random);
        std::set<uint16_t> arrived;
        for (const uint16_t i : order) {
            h.segment = i;
            const bool whole = arrived.size() == segments;
            const bool fresh = arrived.insert(i).second;
            const response_outcome expected = whole    ? response_outcome::duplicate
                                              : !fresh ? response_outcome::duplicate_segment
                                              : arrived.size() == segments ? response_outcome::complete
                                                                           : response_outcome::partial;
            ASSERT_EQ(response(t, h, segments), expected);
        }
    }
    EXPECT_EQ(inflight_count(t), 0u);
}

TEST(inflight, malformed_segments_are_refused) {
    inflight_table t("t", 1, 3, first_generation);
    message_header h;
    ASSERT_TRUE(send(t, 0, &h));
    h.segments = 4;
    EXPECT_EQ(response(t, h, 3), response_outcome::bad_segment);
    h.segments = 3;
    h.segment = 3;
    EXPECT_EQ(response(t, h, 3), response_outcome::bad_segment);
    h.segment = 0;
    EXPECT_EQ(response(t, h, 3), response_outcome::partial);
    h.segments = 2;  // another count than the first segment said
    h.segment = 1;
    EXPECT_EQ(response(t, h, 3), response_outcome::bad_segment);
}

TEST(inflight, expiry_stops_at_the_first_message_that_is_too_young) {
    inflight_table t("t", 256, 1, first_generation);
    message_header h;
    for (uint64_t time = 0; time < 256; time++) ASSERT_TRUE(send(t, time, &h));
    EXPECT_EQ(inflight_expire(t, 110, 100, 64), 10u);  // sent at 0 to 9
    EXPECT_EQ(inflight_expire(t, 111, 100, 64), 1u);
    EXPECT_EQ(inflight_expire(t, 200, 100, 64), 64u);  // at the most
    EXPECT_EQ(inflight_expire(t, 200, 100, 64), 25u);
    EXPECT_EQ(inflight_count(t), 156u);
}

// Whatever runs in between: a call gives something back, or has looked at as many as it may.
TEST(inflight, expiry_reaches_every_slot) {
    std::mt19937 random(5);
    for (int trial = 0; trial < 200; trial++) {
        inflight_table t("t", 200, 1, first_generation);
        message_header h;
        uint32_t old = 0;
        for (int i = 0; i < 200; i++) {
            const bool is_old = random() % 3 == 0;
            ASSERT_TRUE(send(t, is_old ? 0 : 1000, &h));
            if (random() % 3 == 0)
                ASSERT_EQ(response(t, h), response_outcome::complete);
            else
                old += is_old;
        }
        const uint32_t looks = 1 + random() % inflight_expire_at_once, calls = old + 200 / looks + 1;
        uint32_t expired = 0;
        for (uint32_t call = 0; call < calls; call++) expired += inflight_expire(t, 1000, 500, looks);
        EXPECT_EQ(expired, old) << looks;
    }
}

// sent = with a response + lost + in flight, with losses, duplicates and late responses: against a naive
// model.
TEST(inflight, messages_are_conserved) {
    std::mt19937 random(7);
    inflight_table t("t", 16, 1, first_generation);
    struct known {
        message_header h;
        bool responses, lost;
    };
    std::vector<known> all;
    uint64_t now = 0, responses = 0, lost = 0;
    for (int step = 0; step < 20'000; step++, now++) {
        message_header h;
        if (random() % 2 && send(t, now, &h)) all.push_back({h, false, false});
        if (!all.empty()) {
            known &k = all[all.size() - 1 - std::min<size_t>(random() % 24, all.size() - 1)];
            const response_outcome o = response(t, k.h);
            ASSERT_EQ(o, k.responses ? response_outcome::duplicate
                         : k.lost    ? response_outcome::late
                                     : response_outcome::complete);
            if (o == response_outcome::complete) k.responses = true, responses++;
        }
        lost += inflight_expire(t, now, 40, 3);
        for (size_t i = all.size() > 100 ? all.size() - 100 : 0; i < all.size(); i++)
            if (!all[i].responses && t.slots[all[i].h.slot].generation.load() != all[i].h.generation)
                all[i].lost = true;
    }
    EXPECT_EQ(all.size(), responses + lost + inflight_count(t));
    EXPECT_GT(lost, 0u);
}

// app_tx and app_rx on two workers: every slot is owned by one side at a time.
TEST(inflight, two_workers_share_the_table) {
    constexpr uint32_t messages = 100'000;
    inflight_table t("t", 32, 1, first_generation);
    spsc_ring<message_header> wire("wire", 64);
    std::thread sender([&] {
        for (uint32_t sent = 0; sent < messages;) {
            message_header h;
            if (!send(t, sent, &h)) {
                std::this_thread::yield();
                continue;
            }
            while (wire.put(&h, 1) == 0) std::this_thread::yield();
            sent++;
        }
    });
    uint32_t responses = 0, expired = 0;
    while (responses < messages) {
        message_header h;
        if (wire.take(&h, 1) == 0) {
            std::this_thread::yield();
            continue;
        }
        ASSERT_EQ(response(t, h), response_outcome::complete);
        responses++;
        expired += inflight_expire(t, 0, UINT32_MAX, 4);
    }
    sender.join();
    EXPECT_EQ(inflight_count(t), 0u);
    EXPECT_EQ(expired, 0u);
}

}  // namespace
}  // namespace wt::test::inflight_test
