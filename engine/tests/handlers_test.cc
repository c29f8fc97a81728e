// Message handlers: every byte of a request is read, every byte of a response written, wherever the segments
// are cut.
#include <gtest/gtest.h>

#include <map>

#include "handler_tools.h"

namespace wt::test::handlers_test {
namespace {

// Handlers that scan, and where the scan stands in their responses.
struct scanner {
    const char *name;
    uint32_t scan_at;
    std::map<std::string, std::string> options;
};

const std::map<std::string, std::string> small_file = {{"file", "4096"}};

class scanning : public ::testing::TestWithParam<scanner> {
  protected:
    opened_handler open(bool scan = true) const {
        return open_message_handler(
            GetParam().name, {.request = 300, .response = 300, .scan = scan, .options = GetParam().options});
    }

    uint64_t scan_of(const bytes &request) const {
        return word_at(ask(open(), request, 300).content, GetParam().scan_at);
    }
};

INSTANTIATE_TEST_SUITE_P(handlers, scanning,
                         ::testing::Values(scanner{"t_app", 0, {}}, scanner{"l_app", 0, {}},
                                           scanner{"m_app", 0, {{"state", "4096"}}},
                                           scanner{"fs_write", 8, small_file},
                                           scanner{"fs_read", 8, small_file},
                                           scanner{"kv", 8, {{"keys", "10"}}}, scanner{"decompress", 16, {}}),
                         [](const auto &info) { return info.param.name; });

TEST_P(scanning, reads_every_byte) {
    std::mt19937 random(1);
    for (const uint32_t length : {8u, 70u, 299u}) {
        const bytes request = random_bytes(length, random);
        const uint64_t scan = scan_of(request);
        for (uint32_t at = 0; at < length; ++at) {
            bytes changed = request;
            changed[at] ^= static_cast<uint8_t>(1u << random() % 8);
            EXPECT_NE(scan_of(changed), scan) << "byte " << at << " of " << length;
        }
    }
}

TEST_P(scanning, is_the_xor_of_the_words) {
    bytes request(20);
    for (uint8_t i = 0; i < 20; ++i) request[i] = i;
    EXPECT_EQ(scan_of(request), 0x0706050403020100u ^ 0x0f0e0d0c0b0a0908u ^ 0x13121110u);
}

TEST_P(scanning, can_be_disabled) {
    const opened_handler handler = open(false);
    const bytes response = ask(handler, bytes(64, 0xff), 300).content;
    EXPECT_EQ(word_at(response, GetParam().scan_at), 0u);
}

TEST_P(scanning, does_not_depend_on_segmentation) {
    std::mt19937 random(2);
    for (int round = 0; round < 300; ++round) {
        const uint32_t length = random() % 300, room = random() % 301;
        const bytes request = random_bytes(length, random);
        const responses whole = ask(open(), request, room);
        const responses cut = ask(open(), cut_body(random_cuts(length, random), request),
                                  cut_body(random_cuts(room, random), 0xa5));
        ASSERT_EQ(cut.content, whole.content) << "also: every byte was written, for the room was not blank";
        ASSERT_EQ(cut.flags, whole.flags);
    }
}

TEST_P(scanning, works_when_the_response_reuses_the_request) {
    std::mt19937 random(3);
    for (int round = 0; round < 300; ++round) {
        const uint32_t length = random() % 301;
        const bytes request = random_bytes(length, random);
        const cut_body memory(random_cuts(length, random), request);
        ASSERT_EQ(ask(open(), memory, memory).content, ask(open(), request, length).content);
    }
}

TEST(empty, touches_nothing) {
    const opened_handler handler = open_message_handler("empty");
    const cut_body request({5, 6}, 0x11), response({7}, 0x22);
    EXPECT_EQ(ask(handler, request, response).content, bytes(7, 0x22));
    EXPECT_EQ(request.get(11), bytes(11, 0x11));
}

TEST(l_app, responds_with_the_size_of_the_request) {
    const opened_handler handler = open_message_handler("l_app");
    EXPECT_EQ(ask(handler, bytes(70), 100).content.size(), 70u);
    EXPECT_EQ(ask(handler, bytes(70), 50).content.size(), 50u);
}

TEST(t_app, fills_the_response_size_of_the_scenario) {
    const opened_handler handler = open_message_handler("t_app");
    EXPECT_EQ(ask(handler, {1, 2, 3, 4, 5, 6, 7, 8}, 11).content, bytes({1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3}));
}

// m_app's response is the XOR of the marks that it found: with one access a message, the number of the
// message that visited the line before, 0 where there was none.
uint64_t mark_found(const opened_handler &handler) { return word_at(ask(handler, bytes(8), 8).content, 0); }

TEST(m_app, walks_through_its_range_in_order) {
    const opened_handler handler = open_message_handler(
        "m_app",
        {.options = {{"state", "1024"}, {"range", "256"}, {"accesses", "1"}, {"pattern", "sequential"}}});
    for (uint64_t message = 1; message <= 20; ++message)
        EXPECT_EQ(mark_found(handler), message <= 4 ? 0 : message - 4);
}

TEST(m_app, reaches_its_whole_range_and_nothing_else) {
    for (const char *range : {"0", "2048"}) {
        const opened_handler handler = open_message_handler(
            "m_app", {.options = {{"state", "8192"}, {"range", range}, {"accesses", "1"}}});
        int first_visits = 0;
        for (int message = 0; message < 4000; ++message) first_visits += mark_found(handler) == 0;
        EXPECT_EQ(first_visits, range[0] == '0' ? 128 : 32);
    }
}

TEST(m_app, makes_the_requested_accesses) {
    const opened_handler handler = open_message_handler(
        "m_app", {.options = {{"state", "512"}, {"accesses", "3"}, {"pattern", "sequential"}}});
    // 8 lines, 3 a message: lines 0-2, 3-5, 6 7 0, 1 2 3
    EXPECT_EQ(mark_found(handler), 0u);
    EXPECT_EQ(mark_found(handler), 0u);
    EXPECT_EQ(mark_found(handler), 1u);
    EXPECT_EQ(mark_found(handler), 1u ^ 1u ^ 2u);
}

TEST(m_app, refuses_invalid_options) {
    EXPECT_EQ(refusal_of("m_app", {.options = {{"state", "63"}}}),
              "m_app: state = 63 is less than a cache line of 64 bytes");
    EXPECT_EQ(refusal_of("m_app", {.options = {{"state", "128"}, {"range", "129"}}}),
              "m_app: range = 129 is not between a cache line of 64 bytes and the state of 128");
    EXPECT_NE(refusal_of("m_app", {.options = {{"state", "18446744073709551615"}}}).find("are available"),
              std::string::npos);
    EXPECT_EQ(refusal_of("m_app", {.role = WT_CLIENT, .options = {{"state", "18446744073709551615"}}}), "")
        << "a client needs no state";
}

}  // namespace
}  // namespace wt::test::handlers_test
