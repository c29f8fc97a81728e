#include "core/message.h"

#include <gtest/gtest.h>

namespace wt::test::message_test {
namespace {

constexpr message_header example = {
    .kind = message_kind::response,
    .workload = 0x21,
    .application = 0x3141,
    .slot = 0x51617181,
    .generation = 0x91a1b1c1,
    .segment = 0xd1e1,
    .segments = 0xf102,
};

TEST(MessageHeader, IsInNetworkByteOrderAtAnyAddress) {
    uint8_t memory[message_header_bytes + 1] = {};
    message_header_write(memory + 1, example);
    const uint8_t expected[] = {0x12, 0x21, 0x31, 0x41, 0x51, 0x61, 0x71, 0x81,
                                0x91, 0xa1, 0xb1, 0xc1, 0xd1, 0xe1, 0xf1, 0x02};
    EXPECT_EQ(std::memcmp(memory + 1, expected, sizeof expected), 0);
    EXPECT_EQ(memory[0], 0);
}

TEST(MessageHeader, ReadsWhatWasWritten) {
    uint8_t memory[message_header_bytes];
    message_header_write(memory, example);
    const message_header h = message_header_read(memory);
    EXPECT_EQ(h.kind, example.kind);
    EXPECT_EQ(h.workload, example.workload);
    EXPECT_EQ(h.application, example.application);
    EXPECT_EQ(h.slot, example.slot);
    EXPECT_EQ(h.generation, example.generation);
    EXPECT_EQ(h.segment, example.segment);
    EXPECT_EQ(h.segments, example.segments);
}

uint32_t queue_of(uint32_t slot, uint32_t generation, uint16_t segment, uint32_t queues) {
    uint8_t memory[message_header_bytes];
    message_header_write(memory, {message_kind::request, 0, 0, slot, generation, segment, 9});
    return message_queue(memory, queues);
}

// A slot's generation is odd while a message is in flight.
TEST(MessageQueue, AllSegmentsGoToOneAndMessagesToAllInTurn) {
    for (const uint32_t queues : {1u, 2u, 3u, 7u}) {
        for (uint16_t segment = 0; segment < 9; segment++)
            EXPECT_EQ(queue_of(5, 3, segment, queues), queue_of(5, 3, 0, queues));
        for (uint32_t slot = 0; slot < 10; slot++)
            EXPECT_EQ(queue_of(slot + 1, 1, 0, queues), (queue_of(slot, 1, 0, queues) + 1) % queues);
        // one slot: one message at a time
        for (uint32_t generation = 1; generation < 20; generation += 2)
            EXPECT_EQ(queue_of(0, generation + 2, 0, queues),
                      (queue_of(0, generation, 0, queues) + 1) % queues);
    }
}

// A server gives slot s to application s modulo their number: with the queue each pair must come about.
TEST(MessageQueue, EverySlotComesToEveryQueue) {
    for (const uint32_t slot : {0u, 1u, 2u, 3u})
        for (const uint32_t queue : {0u, 1u}) {
            const bool comes = queue_of(slot, 1, 0, 2) == queue || queue_of(slot, 3, 0, 2) == queue;
            EXPECT_TRUE(comes) << slot << " to " << queue;
        }
}

void expect_cut(uint32_t bytes, uint32_t room, segmentation expected) {
    const segmentation s = segmentation_of(bytes, room);
    EXPECT_EQ(s.body_bytes, expected.body_bytes) << bytes << " in " << room;
    EXPECT_EQ(s.segment_body, expected.segment_body) << bytes << " in " << room;
    EXPECT_EQ(s.segments, expected.segments) << bytes << " in " << room;
    EXPECT_EQ(s.last_body, expected.last_body) << bytes << " in " << room;
}

TEST(Segmentation, KnownSegmentSizes) {
    expect_cut(16, 1472, {0, 1456, 1, 0});          // a header alone
    expect_cut(22, 1472, {6, 1456, 1, 6});          // a 64-byte mbuf
    expect_cut(1472, 1472, {1456, 1456, 1, 1456});  // just fits
    expect_cut(1473, 1472, {1457, 1456, 2, 1});
    expect_cut(100'000, 1472, {99'984, 1456, 69, 976});
    expect_cut(4u << 20, 1472, {4'194'288, 1456, 2881, 1008});
    expect_cut(4u << 20, 8972, {4'194'288, 8956, 469, 2880});
}

TEST(Segmentation, EveryByteIsInOneSegmentOfValidLength) {
    for (const uint32_t room : {17u, 40u, 548u, 1472u, 8972u}) {
        for (uint32_t bytes = message_header_bytes; bytes < 20'000; bytes += 7) {
            const segmentation s = segmentation_of(bytes, room);
            ASSERT_GE(s.segments, 1u);
            uint32_t body = 0;
            for (uint32_t i = 0; i < s.segments; i++) {
                const uint32_t part = segment_body_bytes(s, i);
                ASSERT_LE(part + message_header_bytes, room);
                ASSERT_TRUE(part > 0 || s.segments == 1) << "an empty segment";
                body += part;
            }
            ASSERT_EQ(body + message_header_bytes, bytes);
        }
    }
}

}  // namespace
}  // namespace wt::test::message_test
