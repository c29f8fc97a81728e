#include "core/assembler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <vector>

#include "tests/assembler_check.h"

namespace wt::test::assembler_test {
namespace {

constexpr uint32_t applications = 3, slots = 4;
constexpr segmentation five = segmentation_of(16 + 4 * 100 + 7, 16 + 100);
static_assert(five.segments == 5 && five.last_body == 7);

message_header header(uint32_t generation, uint32_t segment, const segmentation &shape = five) {
    return {.kind = message_kind::request,
            .workload = 0,
            .application = 1,
            .slot = 2,
            .generation = generation,
            .segment = static_cast<uint16_t>(segment),
            .segments = static_cast<uint16_t>(shape.segments)};
}

// A check that fails the test where assembler and model differ, and says what came of the segment.
class Assembler : public testing::Test {
  protected:
    std::string_view take(const message_header &h, uint32_t body_bytes) {
        const auto wrong = check_.take(h, body_bytes);
        EXPECT_FALSE(wrong) << *wrong;
        if (check_.result == assembled::dropped) return drop_names[static_cast<uint32_t>(check_.reason)];
        return check_.result == assembled::complete ? "complete" : "incomplete";
    }
    std::string_view take(const message_header &h) { return take(h, segment_body_bytes(five, h.segment)); }
    void TearDown() override {
        const auto wrong = check_.finish();
        EXPECT_FALSE(wrong) << *wrong;
    }
    assembler_check check_{applications, slots, five};
};

TEST_F(Assembler, InOrder) {
    for (uint32_t i = 0; i < 4; i++) EXPECT_EQ(take(header(1, i)), "incomplete");
    EXPECT_EQ(take(header(1, 4)), "complete");
}

TEST_F(Assembler, InReverseOrder) {
    for (uint32_t i = 4; i > 0; i--) EXPECT_EQ(take(header(1, i)), "incomplete");
    EXPECT_EQ(take(header(1, 0)), "complete");
}

TEST_F(Assembler, ADuplicateBeforeAndAfterCompletion) {
    EXPECT_EQ(take(header(1, 0)), "incomplete");
    EXPECT_EQ(take(header(1, 0)), "duplicate_segment");
    for (uint32_t i = 1; i < 5; i++) take(header(1, i));
    for (uint32_t i = 0; i < 5; i++) EXPECT_EQ(take(header(1, i)), "duplicate_segment");
}

TEST_F(Assembler, ANewerMessageSupersedesAnUnfinishedOne) {
    take(header(1, 0));
    take(header(1, 3));
    EXPECT_EQ(take(header(2, 0)), "incomplete");
    EXPECT_EQ(take(header(1, 1)), "stale_segment");
    EXPECT_EQ(take(header(5, 4)), "incomplete") << "superseded twice";
    for (uint32_t i = 0; i < 3; i++) EXPECT_EQ(take(header(5, i)), "incomplete");
    EXPECT_EQ(take(header(5, 3)), "complete");
    EXPECT_EQ(take(header(6, 0)), "incomplete") << "after a complete one";
    EXPECT_EQ(take(header(5, 0)), "stale_segment");
}

TEST_F(Assembler, GenerationsWrapAround) {
    EXPECT_EQ(take(header(0xffff'fffe, 0)), "incomplete");
    EXPECT_EQ(take(header(0xffff'ffff, 0)), "incomplete");
    EXPECT_EQ(take(header(0, 0)), "incomplete");
    EXPECT_EQ(take(header(0xffff'ffff, 1)), "stale_segment");
    EXPECT_EQ(take(header(0x7fff'ffff, 0)), "incomplete") << "half of the circle ahead";
    EXPECT_EQ(take(header(0, 1)), "stale_segment");
    EXPECT_EQ(take(header(0xffff'ffff, 1)), "stale_segment") << "as far ahead as behind";
}

TEST_F(Assembler, TheFirstGenerationMayBeAny) {
    EXPECT_EQ(take(header(0, 0)), "incomplete");
    message_header other = header(0x8000'0000, 0);
    other.slot = 3;
    EXPECT_EQ(take(other), "incomplete");
}

TEST_F(Assembler, MalformedSegmentsHaveDropReasons) {
    message_header h = header(1, 0);
    h.application = applications;
    EXPECT_EQ(take(h), "unknown_application");
    h = header(1, 0);
    h.slot = slots;
    EXPECT_EQ(take(h), "bad_slot");
    h.slot = 0xffff'ffff;
    EXPECT_EQ(take(h), "bad_slot");
    for (const uint16_t segments : {0, 1, 4, 6, 65535}) {
        h = header(1, 0);
        h.segments = segments;
        EXPECT_EQ(take(h), "bad_segment_count") << segments;
    }
    for (const uint32_t segment : {5u, 6u, 65535u}) {
        EXPECT_EQ(take(header(1, segment), 7), "bad_segment_index") << segment;
    }
    for (const uint32_t bytes : {0u, 7u, 99u, 101u})
        EXPECT_EQ(take(header(1, 0), bytes), "bad_segment_length");
    for (const uint32_t bytes : {0u, 6u, 8u, 100u})
        EXPECT_EQ(take(header(1, 4), bytes), "bad_segment_length");
    EXPECT_EQ(take(header(1, 0)), "incomplete") << "a lie leaves nothing behind";
}

TEST_F(Assembler, SlotsAndApplicationsAreIndependent) {
    for (uint32_t i = 0; i < 5; i++) {
        for (uint16_t application = 0; application < applications; application++) {
            for (uint32_t slot = 0; slot < slots; slot++) {
                message_header h = header(slot + application, i);
                h.application = application;
                h.slot = slot;
                EXPECT_EQ(take(h), i == 4 ? "complete" : "incomplete");
            }
        }
    }
}

TEST(AssemblerOfOneSegment, EveryMessageIsCompleteAtOnceAndOnce) {
    const segmentation one = segmentation_of(86, 1472);
    assembler_check check(applications, slots, one);
    for (uint32_t generation = 0; generation < 10; generation++) {
        ASSERT_FALSE(check.take(header(generation, 0, one), 70));
        ASSERT_EQ(check.result, assembled::complete);
        ASSERT_FALSE(check.take(header(generation, 0, one), 70));
        ASSERT_EQ(check.reason, drop::duplicate_segment);
    }
    EXPECT_FALSE(check.finish());
}

TEST(AssemblerOfManySizes, TakesMessagesUpToTheLargest) {
    assembler_check check(applications, slots, five, true);
    const auto outcome = [&](uint32_t generation, uint16_t segments, uint16_t segment,
                             uint32_t body) -> std::string_view {
        message_header h = header(generation, segment);
        h.segments = segments;
        EXPECT_FALSE(check.take(h, body));
        if (check.result == assembled::dropped) return drop_names[static_cast<uint32_t>(check.reason)];
        return check.result == assembled::complete ? "complete" : "incomplete";
    };
    EXPECT_EQ(outcome(1, 1, 0, 0), "complete") << "an empty one";
    EXPECT_EQ(outcome(2, 1, 0, 100), "complete");
    EXPECT_EQ(outcome(3, 2, 1, 1), "incomplete");
    EXPECT_EQ(outcome(3, 3, 0, 100), "bad_segment_count") << "it said 2 before";
    EXPECT_EQ(outcome(3, 2, 0, 99), "bad_segment_length") << "only the last may be short";
    EXPECT_EQ(outcome(3, 2, 0, 100), "complete");
    EXPECT_EQ(outcome(4, 2, 1, 0), "bad_segment_length") << "an empty last one need not be sent";
    EXPECT_EQ(outcome(4, 5, 4, 8), "bad_segment_length") << "longer than the largest";
    EXPECT_EQ(outcome(4, 5, 4, 7), "incomplete");
    EXPECT_EQ(outcome(4, 6, 0, 100), "bad_segment_count");
    EXPECT_EQ(outcome(4, 0, 0, 100), "bad_segment_count");
    EXPECT_EQ(outcome(5, 1, 0, 5), "complete") << "supersedes one of five";
    EXPECT_FALSE(check.finish());
}

// Several messages a slot, their segments shuffled within a reach, some lost, some twice: thousands of
// runs.
TEST(AssemblerProperty, AgreesWithTheModelUnderLossAndReordering) {
    std::mt19937 random(20261121);
    const auto below = [&random](uint32_t limit) {
        return std::uniform_int_distribution<uint32_t>(0, limit - 1)(random);
    };
    uint32_t completed = 0, dropped = 0;
    for (uint32_t run_state = 0; run_state < 3000; run_state++) {
        const segmentation shape = segmentation_of(16 + below(600), 16 + 1 + below(100));
        const uint32_t loss = below(20), duplicate = below(20), reach = 1 + below(64);
        const bool sizes_vary = run_state % 2;
        uint32_t generation = random();
        std::vector<std::pair<message_header, uint32_t>> wire;  // with the bytes of its body
        for (uint32_t message = 0; message < 12; message++, generation += 1 + below(3)) {
            const uint32_t body = sizes_vary ? below(shape.body_bytes + 1) : shape.body_bytes;
            const segmentation own = segmentation_of(16 + body, 16 + shape.segment_body);
            message_header h = header(generation, 0, own);
            h.application = static_cast<uint16_t>(below(applications));
            h.slot = below(slots);
            for (uint32_t i = 0; i < own.segments; i++) {
                h.segment = static_cast<uint16_t>(i);
                if (below(100) >= loss) wire.emplace_back(h, segment_body_bytes(own, i));
                if (below(100) < duplicate) wire.emplace_back(h, segment_body_bytes(own, i));
            }
        }
        for (size_t i = 0; i < wire.size(); i++)
            std::swap(wire[i], wire[std::min(wire.size() - 1, i + below(reach))]);

        assembler_check check(applications, slots, shape, sizes_vary);
        for (const auto &[h, body_bytes] : wire) {
            const auto wrong = check.take(h, body_bytes);
            ASSERT_FALSE(wrong) << *wrong << " in flight " << run_state;
            completed += check.result == assembled::complete;
            dropped += check.result == assembled::dropped;
        }
        const auto wrong = check.finish();
        ASSERT_FALSE(wrong) << *wrong << " in flight " << run_state;
    }
    EXPECT_GT(completed, 1000u) << "the runs are worth something";
    EXPECT_GT(dropped, 1000u);
}

}  // namespace
}  // namespace wt::test::assembler_test
