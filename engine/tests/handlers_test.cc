// Message handlers: every byte of a request is read, every byte of a response written, wherever the segments
// are cut.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "core/available_memory.h"
#include "handler_tools.h"
#include "handlers/applications/opening.h"
#include "test_tools.h"

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

uint64_t pages_in_memory() {
    uint64_t all = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident;
}

TEST(memory, is_touched_within_the_bound_and_asked_of_the_machine_beyond_it) {
    const uint64_t before = pages_in_memory(), small = uint64_t{64} << 20, large = uint64_t{512} << 20;
    wt_touch_at_most(100 << 20);
    {
        const opened_handler first =
            open_message_handler("m_app", {.options = {{"state", std::to_string(small)}}});
        EXPECT_FALSE(wt_left_untouched());
        const opened_handler second =
            open_message_handler("m_app", {.options = {{"state", std::to_string(large)}}});
        EXPECT_TRUE(wt_left_untouched());
        EXPECT_EQ(mark_found(second), 0u) << "zeros";
        EXPECT_LT((pages_in_memory() - before) * 4096, 2 * small);
        const uint64_t rest = available_memory() - large / 2;
        EXPECT_NE(refusal_of("m_app", {.options = {{"state", std::to_string(rest)}}}).find("are available"),
                  std::string::npos)
            << "what is not touched is taken all the same";
    }
    wt_touch_at_most(UINT64_MAX);
}

TEST(memory, has_the_limits_of_a_cgroup_and_of_those_above_it) {
    const temporary_directory root;
    const auto put = [&](const std::string &name, const std::string &text) {
        std::filesystem::create_directories((root / name).parent_path());
        std::ofstream(root / name) << text;
    };
    const auto left = [&](const std::string &cgroups) {
        put("list", cgroups);
        return left_in_cgroups((root / "list").c_str(), root.string().c_str());
    };
    put("memory/a/memory.limit_in_bytes", "5000\n");
    put("memory/a/memory.usage_in_bytes", "2000\n");
    put("memory/a/memory.stat", "cache 900\ninactive_file 7\ntotal_inactive_file 500\n");
    put("memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    put("memory/a/b/memory.usage_in_bytes", "10\n");
    put("c/memory.max", "max\n");
    put("c/memory.current", "2000\n");
    put("c/d/memory.max", "100\n");
    put("c/d/memory.current", "200\n");
    EXPECT_EQ(left("9:name=systemd:/\n4:cpu,memory:/a/b\n0::/\n"), 3500u);
    EXPECT_EQ(left("0::/c\n"), UINT64_MAX);
    EXPECT_EQ(left("0::/c/d\n"), 0u);
    EXPECT_EQ(left("0::/absent/d\n4:cpu:/a\n"), UINT64_MAX);
    EXPECT_EQ(left_in_cgroups("/nonexistent", root.string().c_str()), UINT64_MAX);
}

}  // namespace
}  // namespace wt::test::handlers_test
