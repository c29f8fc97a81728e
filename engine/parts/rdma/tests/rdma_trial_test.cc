// What a trial finds of a provider whose claims are not what it does.
#include <gtest/gtest.h>

#include "fake_fabric.h"
#include "parts/rdma/fabric/trial.h"
#include "parts/rdma/quiet.h"

namespace wt::test::rdma_trial_test {
namespace {

constexpr fabric_ability wanted = {.largest = 1473, .receives = 64, .sends = 100, .selective = true};

struct Trial : testing::Test {
    fake_endpoint from, to;

    std::optional<fabric_ability> find(const fabric_ability &asked = wanted) {
        std::vector<uint8_t> bytes(size_t{2} * asked.largest);
        const auto end_of = [](fake_endpoint &e) {
            trial_end end;
            end.receives.reset(&e.receives);
            end.sends.reset(&e.sends);
            end.endpoint.reset(&e);
            return end;
        };
        trial_end sender = end_of(from), receiver = end_of(to);
        from.other = &to;
        from.forget();
        to.forget();
        return trial(sender, receiver, bytes, nullptr).find(asked);
    }
};

TEST_F(Trial, FindsAllOfAnHonestProvider) {
    const auto found = find();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->largest, wanted.largest);
    EXPECT_EQ(found->receives, wanted.receives);
    EXPECT_EQ(found->sends, wanted.sends);
    EXPECT_TRUE(found->selective);
}

TEST_F(Trial, FindsTheLargestMessageThatArrives) {
    for (const uint32_t largest : {1000u, 1472u}) {
        from.largest = largest;
        EXPECT_EQ(find()->largest, largest);
    }
}

TEST_F(Trial, FindsThatEachSendIsReported) {
    from.reports_all = true;
    EXPECT_FALSE(find()->selective);
}

TEST_F(Trial, FindsHowDeepQueuesAre) {
    to.most_receives = 40;
    from.most_sends = 30;
    const auto found = find();
    EXPECT_EQ(found->receives, 40u);
    EXPECT_EQ(found->sends, 30u);
}

TEST_F(Trial, TriesSendsThatAskForNoCompletionWhereThatWorks) {
    find();
    EXPECT_FALSE(from.log.back().signalled);
    from.reports_all = true;
    find();
    EXPECT_TRUE(from.log.back().signalled);
}

TEST_F(Trial, ALostDatagramIsSentAgain) {
    from.loses = 2;
    EXPECT_EQ(find()->largest, wanted.largest);
    from.loses = 3;
    EXPECT_FALSE(find());
}

TEST_F(Trial, AProviderThatSendsNothingIsNotTried) {
    from.largest = 0;
    EXPECT_FALSE(find());
    from.largest = SIZE_MAX;
    from.refuses_sends = -FI_EHOSTUNREACH;
    EXPECT_FALSE(find());
}

// A clock that a test moves, and what comes at which look.
struct Quiet : testing::Test {
    uint64_t now = 0;
    uint32_t looks = 0;
    template <typename Take>
    uint32_t drain(Take take) {
        return take_until_quiet([this] { return now; }, [&] { return looks++, take(); });
    }
};

TEST_F(Quiet, GoesOnWhilePacketsArrive) {
    // one at every second look, 15 ms behind the one between
    EXPECT_EQ(drain([&] { return now += 15'000'000, looks < 20 ? looks % 2 : 0; }), 10u);
}

TEST_F(Quiet, EndsWhenNothingHasCome) {
    EXPECT_EQ(drain([&] { return now += 1'000'000, 0u; }), 0u);
    EXPECT_LE(now, quiet_ns + 2'000'000);
}

TEST_F(Quiet, LooksOnceMoreWhenItsThreadWasStopped) {
    // the host takes the core for 30 ms behind a look; packets have come meanwhile
    EXPECT_EQ(drain([&] { return now += 30'000'000, looks == 2 ? 5u : 0u; }), 5u);
}

TEST_F(Quiet, GivesUpOnATrafficWithoutEnd) {
    EXPECT_GT(drain([&] { return now += 15'000'000, 1u; }), 100u);
    EXPECT_LE(now, longest_drain_ns + 15'000'000);
}

}  // namespace
}  // namespace wt::test::rdma_trial_test
