// kv: a GET finds the last SET, and the client requests the configured keys.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "chi_square.h"
#include "handler_tools.h"
#include "handlers/applications/kv_keys.h"

namespace wt::test::kv_test {
namespace {

using options = std::map<std::string, std::string>;

TEST(kv, refuses_invalid_options) {
    EXPECT_EQ(refusal_of("kv", {.response = 40}),
              "kv: a response body of 40 bytes has no room for its head of 16 bytes and a value of 32: make "
              "the response 8 "
              "bytes longer, or the value shorter");
    EXPECT_EQ(
        refusal_of("kv", {.role = WT_CLIENT, .request = 40}),
        "kv: a request body of 40 bytes has no room for the 48 of a SET: make the request 8 bytes longer");
    EXPECT_EQ(refusal_of("kv", {.role = WT_CLIENT, .request = 40, .options = {{"get_percent", "100"}}}), "");
    EXPECT_EQ(refusal_of("kv", {.options = {{"get_percent", "101"}}}),
              "kv: get_percent = 101 is more than 100");
    EXPECT_EQ(refusal_of("kv", {.options = {{"keys", "0"}}}), "kv: keys = 0 is not between 1 and 2^30");
    EXPECT_EQ(refusal_of("kv", {.options = {{"value", "0"}}}), "kv: value = 0 is not between 1 and 4 MiB");
}

enum { get = 1, set = 2, done = 0, not_found = 1, no_room = 2, bad_request = 3 };

bytes kv_request(uint8_t op, uint64_t key, const bytes &value = {}) {
    bytes request(16);
    request[0] = op;
    const auto length = static_cast<uint32_t>(value.size());
    std::memcpy(&request[4], &length, 4);
    std::memcpy(&request[8], &key, 8);
    for (const uint8_t byte : value) request.push_back(byte);
    return request;
}

bytes value_of(const bytes &response) { return {response.begin() + 16, response.end()}; }

TEST(kv, agrees_with_a_map) {
    const opened_handler handler =
        open_message_handler("kv", {.options = {{"keys", "100"}, {"value", "20"}}});
    std::mt19937 random(4);
    std::map<uint64_t, bytes> model;
    for (uint64_t key = 0; key < 100; ++key) {
        const bytes response = ask(handler, kv_request(get, key), 64).content;
        ASSERT_EQ(response[0], done);
        model[key] = value_of(response);
        ASSERT_EQ(model[key].size(), 20u) << "all keys are loaded at the start";
    }
    EXPECT_NE(model[1], model[2]);
    for (int round = 0; round < 20000; ++round) {
        const uint64_t key = random() % 200;  // the table has room for 128 of them
        if (random() % 2) {
            const bytes value = random_bytes(random() % 24, random);
            const bool fits = value.size() <= 20 && (model.contains(key) || model.size() < 128);
            ASSERT_EQ(ask(handler, kv_request(set, key, value), 64).content[0], fits ? done : no_room);
            if (fits) model[key] = value;
        } else {
            const bytes response = ask(handler, kv_request(get, key), 64).content;
            ASSERT_EQ(response[0], model.contains(key) ? done : not_found);
            ASSERT_EQ(value_of(response), model.contains(key) ? model[key] : bytes());
        }
    }
    EXPECT_EQ(model.size(), 128u);
}

TEST(kv, reports_a_malformed_request) {
    const opened_handler handler = open_message_handler("kv");
    EXPECT_EQ(ask(handler, bytes(), 64).content[0], bad_request);
    EXPECT_EQ(ask(handler, bytes(15, 1), 64).content[0], bad_request);
    EXPECT_EQ(ask(handler, kv_request(0, 1), 64).content[0], bad_request);
    EXPECT_EQ(ask(handler, kv_request(77, 1), 64).content[0], bad_request);
    bytes lies = kv_request(set, 1, bytes(10));
    lies[4] = 11;
    EXPECT_EQ(ask(handler, lies, 64).content[0], bad_request);
}

TEST(kv, responds_to_a_whole_burst) {
    const opened_handler handler = open_message_handler("kv", {.options = {{"keys", "100"}}});
    std::vector<cut_body> requests, responses;
    std::vector<wt_exchange> burst;
    for (uint64_t key = 0; key < 100; ++key) {
        requests.emplace_back(std::vector<uint32_t>{16}, kv_request(get, key));
        responses.emplace_back(std::vector<uint32_t>{64});
        burst.push_back({requests.back().message(), responses.back().message(), 0, 0});
    }
    handler.table().message(handler.state(), burst.data(), 100);
    for (uint64_t key = 0; key < 100; ++key)
        EXPECT_EQ(responses[key].get(burst[key].response.length),
                  ask(handler, kv_request(get, key), 64).content);
}

TEST(kv, client_sends_the_requested_mix) {
    const opening how = {
        .role = WT_CLIENT, .request = 60, .options = {{"keys", "50"}, {"get_percent", "75"}}};
    const opened_handler client = open_message_handler("kv", how), again = open_message_handler("kv", how);
    const opened_handler server = open_message_handler("kv", {.options = {{"keys", "50"}}});
    std::mt19937 random(5);
    std::map<uint64_t, int> keys;
    int gets = 0;
    for (int i = 0; i < 10000; ++i) {
        const cut_body request(random_cuts(60, random), 0xa5), same({60});
        const wt_message first = request.message(), second = same.message();
        client.table().request(client.state(), &first, 1);
        again.table().request(again.state(), &second, 1);
        ASSERT_EQ(request.get(60), same.get(60)) << "the seed decides, the cuts do not";
        gets += request.get(60)[0] == get;
        ++keys[word_at(request.get(60), 8)];
        ASSERT_EQ(ask(server, request, cut_body({64})).content[0], done);
    }
    EXPECT_NEAR(gets, 7500, 300);  // seven standard deviations
    EXPECT_EQ(keys.size(), 50u);
    EXPECT_LT(keys.rbegin()->first, 50u);
}

// A file of keys and weights, for one test.
class key_file {
  public:
    explicit key_file(const std::string &text) { std::ofstream(path_, std::ios::binary) << text; }
    ~key_file() { std::filesystem::remove(path_); }
    const std::string &path() const { return path_; }

  private:
    std::string path_ = std::filesystem::temp_directory_path() / ("kv_keys_" + std::to_string(getpid()));
};

class client {
  public:
    explicit client(const options &how, uint64_t seed = 7)
        : opened_(
              open_message_handler("kv", {.role = WT_CLIENT, .request = 60, .seed = seed, .options = how})) {}

    bytes next() {
        const wt_message message = body_.message();
        opened_.table().request(opened_.state(), &message, 1);
        return body_.get(60);
    }

    uint64_t next_key() { return word_at(next(), 8); }

  private:
    opened_handler opened_;
    cut_body body_{{60}};
};

const char *const listed =
    "# hot keys of a Monday\n7, 0.5\n\n  3\t# thrice a minute\r\n1000000 2.5\n9 0\n7 0.5";

std::vector<options> every_distribution(const key_file &file) {
    return {{{"distribution", "uniform"}},
            {{"distribution", "zipf"}},
            {{"distribution", "zipf"}, {"exponent", "1"}, {"hot", "together"}},
            {{"distribution", "fixed"}, {"key", "42"}},
            {{"distribution", "file"}, {"file", file.path()}}};
}

TEST(kv, responds_with_the_last_value_that_was_set) {
    const key_file file(listed);
    for (options how : every_distribution(file)) {
        how.insert({{"keys", "300"}, {"get_percent", "50"}});
        const opened_handler server = open_message_handler("kv", {.options = how});
        client asking(how);
        std::map<uint64_t, bytes> model;
        std::mt19937 random(6);
        for (int i = 0; i < 5000; ++i) {
            const bytes request = asking.next();
            const uint64_t key = word_at(request, 8);
            const cut_body cut(random_cuts(60, random), request);
            const bytes response = ask(server, cut, cut_body(random_cuts(60, random))).content;
            if (request[0] == set) {
                ASSERT_EQ(response[0], done);
                model[key] = {request.begin() + 16, request.begin() + 48};
            } else if (model.contains(key)) {
                ASSERT_EQ(value_of(response), model[key]) << key;
            } else {
                ASSERT_EQ(response[0], key < 300 ? done : not_found) << key;
            }
        }
        EXPECT_FALSE(model.empty());
    }
}

TEST(kv, client_limits_values_to_a_smaller_request) {
    const options how = {{"keys", "50"}, {"get_percent", "0"}};
    const opened_handler asking =
        open_message_handler("kv", {.role = WT_CLIENT, .request = 60, .options = how});
    const opened_handler server = open_message_handler("kv", {.options = how});
    for (const uint32_t length : {60u, 48u, 47u, 20u, 16u}) {
        const cut_body request({length});
        const wt_message message = request.message();
        asking.table().request(asking.state(), &message, 1);
        const bytes sent = request.get(length);
        ASSERT_EQ(ask(server, sent, 64).content[0], done) << length;
        const bytes value = value_of(ask(server, kv_request(get, word_at(sent, 8)), 64).content);
        EXPECT_EQ(value, bytes(sent.begin() + 16, sent.begin() + std::min(length, 48u)));
    }
}

TEST(kv, client_repeats_for_the_same_seed) {
    const key_file file(listed);
    for (const options &how : every_distribution(file)) {
        client first(how), again(how), other(how, 8);
        int differ = 0;
        for (int i = 0; i < 500; ++i) {
            const bytes request = first.next();
            ASSERT_EQ(request, again.next());
            differ += request != other.next();
        }
        EXPECT_GT(differ, 0) << "another seed, other requests";
    }
}

TEST(kv, client_draws_keys_by_zipfs_law) {
    for (const char *exponent : {"0.5", "0.99", "1.5"}) {
        client asking(
            {{"keys", "1000"}, {"distribution", "zipf"}, {"exponent", exponent}, {"hot", "together"}});
        EXPECT_LT(std::abs(deviation(zipf_weights(1000, std::stod(exponent)), 50000,
                                     [&] { return asking.next_key(); })),
                  4);
    }
}

TEST(kv, scattered_keys_keep_the_popularity_of_their_ranks) {
    client asking({{"keys", "1000"}, {"distribution", "zipf"}, {"exponent", "1.2"}});
    wt_scatter scatter;
    wt_scatter_init(&scatter, 1000);
    std::map<uint64_t, uint64_t> rank_of;
    for (uint64_t rank = 0; rank < 1000; ++rank) rank_of[wt_scattered(&scatter, rank)] = rank;
    EXPECT_LT(
        std::abs(deviation(zipf_weights(1000, 1.2), 50000, [&] { return rank_of.at(asking.next_key()); })),
        4);
}

TEST(kv, scattering_loses_no_key) {
    for (const uint64_t count : {1u, 2u, 3u, 4u, 5u, 63u, 64u, 65u, 1000u, 65536u, 65537u}) {
        wt_scatter scatter;
        wt_scatter_init(&scatter, count);
        std::vector<bool> seen(count);
        for (uint64_t rank = 0; rank < count; ++rank) {
            const uint64_t key = wt_scattered(&scatter, rank);
            ASSERT_LT(key, count);
            ASSERT_FALSE(seen[key]) << rank << " of " << count;
            seen[key] = true;
        }
    }
}

// The 1000 hottest of a million: by chance 32 of them would have another within 16 keys.
TEST(kv, scattered_keys_are_not_adjacent) {
    wt_scatter scatter;
    wt_scatter_init(&scatter, 1000000);
    std::set<uint64_t> hot;
    for (uint64_t rank = 0; rank < 1000; ++rank) hot.insert(wt_scattered(&scatter, rank));
    int close = 0;
    for (auto next = std::next(hot.begin()); next != hot.end(); ++next)
        close += *next - *std::prev(next) <= 16;
    EXPECT_LT(close, 50);
}

TEST(kv, client_can_request_a_single_key) {
    client asking({{"distribution", "fixed"}, {"key", "18446744073709551615"}});
    for (int i = 0; i < 100; ++i) ASSERT_EQ(asking.next_key(), UINT64_MAX);
}

TEST(kv, client_draws_keys_from_a_file) {
    const key_file file(listed);
    client asking({{"distribution", "file"}, {"file", file.path()}});
    const std::map<uint64_t, uint64_t> places = {{3, 0}, {7, 1}, {9, 2}, {1000000, 3}};
    EXPECT_LT(std::abs(deviation({1, 1, 0, 2.5}, 20000, [&] { return places.at(asking.next_key()); })), 4);
}

std::string reading(const std::string &text) {
    const key_file file(text);
    std::string said =
        refusal_of("kv", {.role = WT_CLIENT, .options = {{"distribution", "file"}, {"file", file.path()}}});
    if (const size_t at = said.find(file.path()); at != std::string::npos)
        said.replace(at, file.path().size(), "FILE");
    return said;
}

TEST(kv, names_the_malformed_line_of_a_file) {
    // a scenario may name any file: nothing of it is in the refusal
    const std::string wrong = "kv: FILE:2: this is not a key and its weight, as in \"17 0.25\"";
    for (const std::string line : {"x", "x 1", "-1 1", "+1 1", "1 -1", "1 nan", "1 inf", "1 1 1", "1;1",
                                   "1x1", "1 1e301", "18446744073709551616 1"})
        EXPECT_EQ(reading("1 1\n" + line + "\n"), wrong) << line;
    EXPECT_EQ(reading(""), "kv: FILE: there is no key in it");
    EXPECT_EQ(reading("# nothing\n"), "kv: FILE: there is no key in it");
    EXPECT_EQ(reading("1 0\n2 0\n"),
              "kv: FILE: the weights of its 2 keys have a sum of 0 or an infinite sum");
    EXPECT_EQ(reading("1 1\n" + std::string(300, ' ') + "\n"),
              "kv: FILE:2: the line is longer than 254 bytes, or has a zero byte");
    EXPECT_EQ(reading("1 1\n2 2"), "") << "a last line without an end";
}

TEST(kv, refuses_invalid_key_distributions) {
    const auto saying = [](const options &how) { return refusal_of("kv", {.options = how}); };
    EXPECT_EQ(saying({{"exponent", "0"}}), "kv: exponent = 0 is not above 0 and at most 64");
    EXPECT_EQ(saying({{"exponent", "65"}}), "kv: exponent = 65 is not above 0 and at most 64");
    for (const char *exponent : {"", "nan", "-1", " 1", "1 ", "1x"})
        EXPECT_EQ(saying({{"exponent", exponent}}),
                  std::string("kv: exponent = \"") + exponent + "\" is not a number, as in exponent = 1.5");
    EXPECT_EQ(saying({{"distribution", "file"}}),
              "kv: distribution = \"file\" needs a file, as in file = \"keys.txt\"");
    EXPECT_EQ(saying({{"file", "/keys"}}), "kv: file = /keys needs distribution = \"file\"");
    EXPECT_EQ(refusal_of("kv", {.role = WT_CLIENT,
                                .options = {{"distribution", "file"}, {"file", "/nowhere/keys"}}}),
              "kv: /nowhere/keys: No such file or directory");
}

}  // namespace
}  // namespace wt::test::kv_test
