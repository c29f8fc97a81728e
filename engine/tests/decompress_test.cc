// decompress: the output equals the original, and every malformed request is reported.
#include <gtest/gtest.h>
#include <zlib.h>

#include <set>

#include "handler_tools.h"
#include "handlers/loading/options.h"

namespace wt::test::decompress_test {
namespace {

enum { done = 0, corrupt = 1, wrong_length = 2, wrong_checksum = 3, too_long = 4, bad_request = 5 };

struct response_head {
    uint8_t status, zero[3];
    uint32_t adler;
    uint64_t length, scan;
};

uint32_t adler_of(const bytes &content) {
    return static_cast<uint32_t>(adler32_z(adler32(0, nullptr, 0), content.data(), content.size()));
}

bytes packed(const bytes &content, int level = 6) {
    uLongf length = compressBound(content.size());
    bytes stream(length);
    EXPECT_EQ(compress2(stream.data(), &length, content.data(), content.size(), level), Z_OK);
    stream.resize(length);
    return stream;
}

struct request_head {
    uint32_t stream_length, adler;
    uint64_t output_length;
};

bytes request_of(const request_head &head, const bytes &stream) {
    bytes request(sizeof head);
    std::memcpy(request.data(), &head, sizeof head);
    request.insert(request.end(), stream.begin(), stream.end());
    return request;
}

request_head head_of(const bytes &content, const bytes &stream) {
    return {static_cast<uint32_t>(stream.size()), adler_of(content), content.size()};
}

bytes request_of(const bytes &content) {
    const bytes stream = packed(content);
    return request_of(head_of(content, stream), stream);
}

// What a request holds, inflated by zlib itself.
bytes unpacked(const bytes &request) {
    request_head head;
    std::memcpy(&head, request.data(), sizeof head);
    bytes content(head.output_length);
    uLongf length = content.size();
    EXPECT_EQ(uncompress(content.data(), &length, &request.at(sizeof head), head.stream_length), Z_OK);
    EXPECT_EQ(length, head.output_length);
    return content;
}

// Words over and over, with chance between them: literals, short matches and long ones.
bytes text(uint32_t length, std::mt19937 &random) {
    bytes content;
    while (content.size() < length) {
        const bytes word = random_bytes(random() % 9, random);
        for (uint32_t i = random() % 5; i > 0; --i) content.insert(content.end(), word.begin(), word.end());
        if (random() % 50 == 0) content.insert(content.end(), random() % 700, 'x');
    }
    content.resize(length);
    return content;
}

class decompress : public ::testing::TestWithParam<std::string> {
  protected:
    opened_handler open(uint32_t room = 4096) const {
        return open_message_handler("decompress", {.request = room, .options = {{"library", GetParam()}}});
    }

    static response_head ask_for(const opened_handler &server, const cut_body &request) {
        const bytes content = ask(server, request, cut_body({24})).content;
        EXPECT_EQ(content.size(), sizeof(response_head));
        response_head head;
        std::memcpy(&head, content.data(), sizeof head);
        return head;
    }

    static response_head ask_for(const opened_handler &server, const bytes &request) {
        return ask_for(server, cut_body({static_cast<uint32_t>(request.size())}, request));
    }

    int status(const bytes &request) const { return ask_for(open(), request).status; }
};

std::vector<std::string> libraries() {
    for (const wt_option &option : options_of(find_handler(WT_MESSAGE_HANDLER, "decompress")->options))
        if (option.type == WT_CHOICE) return option_choices(option);
    return {};
}

INSTANTIATE_TEST_SUITE_P(library, decompress, ::testing::ValuesIn(libraries()),
                         [](const auto &info) { return info.param; });

TEST_P(decompress, result_does_not_depend_on_segmentation) {
    const opened_handler server = open();
    std::mt19937 random(1);
    for (int round = 0; round < 300; ++round) {
        const bytes content = text(round < 3 ? static_cast<uint32_t>(round) : random() % 9000, random);
        bytes request = request_of(content);
        request.resize(request.size() + random() % 100);  // what follows the stream is not looked at
        const auto length = static_cast<uint32_t>(request.size());
        const response_head response = ask_for(server, cut_body(random_cuts(length, random), request));
        ASSERT_EQ(response.status, done) << content.size();
        ASSERT_EQ(response.adler, adler_of(content));
        ASSERT_EQ(response.length, content.size());
    }
}

TEST_P(decompress, reads_a_stream_one_byte_at_a_time) {
    std::mt19937 random(2);
    const bytes content = text(3000, random), request = request_of(content);
    const cut_body cut(std::vector<uint32_t>(request.size(), 1), request);
    const response_head response = ask_for(open(), cut);
    EXPECT_EQ(response.status, done);
    EXPECT_EQ(response.adler, adler_of(content));
}

TEST_P(decompress, inflates_two_mebibytes_in_segments) {
    constexpr uint32_t body = (2u << 20) - 16, segment = 1456;
    const opening asking = {
        .role = WT_CLIENT, .request = body, .options = {{"streams", "2"}, {"level", "1"}}};
    const opened_handler client = open_message_handler("decompress", asking), server = open(body);
    std::vector<uint32_t> cuts(body / segment, segment);
    cuts.push_back(body % segment);
    const cut_body request(cuts, 0xa5);
    const wt_message message = request.message();
    for (int i = 0; i < 2; ++i) {
        client.table().request(client.state(), &message, 1);
        const bytes content = unpacked(request.get(body));
        EXPECT_NEAR(static_cast<double>(content.size()), 3.0 * body, 0.3 * body);
        const response_head response = ask_for(server, request);
        EXPECT_EQ(response.status, done);
        EXPECT_EQ(response.length, content.size());
        EXPECT_EQ(response.adler, adler_of(content));
    }
}

TEST_P(decompress, detects_every_change_of_a_stream) {
    const opened_handler server = open();
    std::mt19937 random(3);
    const bytes content = text(1000, random), good = request_of(content);
    for (size_t at = 0; at < good.size(); ++at) {
        bytes bad = good;
        bad[at] ^= static_cast<uint8_t>(1u << random() % 8);
        const response_head response = ask_for(server, bad);
        ASSERT_NE(response.status, done) << "byte " << at;
        ASSERT_EQ(ask_for(server, good).status, done) << "the next one is none the worse";
    }
}

TEST_P(decompress, reports_the_cause_of_a_failure) {
    std::mt19937 random(4);
    const bytes content = text(1000, random), stream = packed(content);
    const request_head head = head_of(content, stream);
    request_head said = head;
    EXPECT_EQ(status(request_of(said, stream)), done);
    said.output_length = 999;
    EXPECT_EQ(status(request_of(said, stream)), wrong_length);
    said.output_length = 1;  // far too little: the slack does not hold the rest either
    EXPECT_EQ(status(request_of(said, stream)), wrong_length);
    said.output_length = 1001;
    EXPECT_EQ(status(request_of(said, stream)), wrong_length);
    said.output_length = uint64_t{1} << 40;
    EXPECT_EQ(status(request_of(said, stream)), too_long);
    said = head;
    said.adler ^= 1;
    EXPECT_EQ(status(request_of(said, stream)), wrong_checksum);
    said = head;
    said.stream_length -= 1;
    EXPECT_EQ(status(request_of(said, stream)), corrupt) << "cut short";
    said.stream_length = 0;
    EXPECT_EQ(status(request_of(said, stream)), corrupt) << "no stream";
    said.stream_length = head.stream_length + 1;
    EXPECT_EQ(status(request_of(said, stream)), bad_request) << "more stream than there is body";
    bytes behind = stream;
    behind.push_back(0);
    EXPECT_EQ(status(request_of(said, behind)), corrupt) << "bytes behind the stream's end";
    EXPECT_EQ(status(bytes(15)), bad_request);
    EXPECT_EQ(status({}), bad_request);
}

TEST_P(decompress, survives_random_input) {
    const opened_handler server = open();
    std::mt19937 random(5);
    for (int round = 0; round < 2000; ++round) {
        bytes stream = packed(text(random() % 2000, random), 1 + static_cast<int>(random() % 9));
        for (uint32_t i = random() % 4; i > 0; --i)
            stream[random() % stream.size()] = static_cast<uint8_t>(random());
        stream.resize(random() % (stream.size() + 1));
        const request_head head = {static_cast<uint32_t>(stream.size()), 0, random() % 4096};
        const bytes request = request_of(head, stream);
        ASSERT_NE(
            ask_for(server, cut_body(random_cuts(static_cast<uint32_t>(request.size()), random), request))
                .status,
            done);
    }
}

bytes requested(const opened_handler &client, uint32_t length) {
    const cut_body body({length}, 0xa5);
    const wt_message message = body.message();
    client.table().request(client.state(), &message, 1);
    return body.get(length);
}

TEST(decompress_client, repeats_for_the_same_seed) {
    opening how = {.role = WT_CLIENT, .request = 10000, .options = {{"streams", "3"}}};
    const opened_handler first = open_message_handler("decompress", how),
                         again = open_message_handler("decompress", how);
    how.seed = 8;
    const opened_handler other = open_message_handler("decompress", how);
    std::set<bytes> seen;
    for (int i = 0; i < 50; ++i) {
        const bytes request = requested(first, 10000);
        ASSERT_EQ(request, requested(again, 10000));
        ASSERT_NE(request, requested(other, 10000));
        seen.insert(request);
    }
    EXPECT_EQ(seen.size(), 3u);
}

TEST(decompress_client, reaches_the_requested_ratio) {
    for (const char *ratio : {"1", "2.5", "10", "20"}) {
        const uint32_t room = 20000;
        const opened_handler client = open_message_handler(
            "decompress",
            {.role = WT_CLIENT, .request = room, .options = {{"ratio", ratio}, {"streams", "1"}}});
        const bytes request = requested(client, room);
        request_head head;
        std::memcpy(&head, request.data(), sizeof head);
        const double wanted = std::stod(ratio);
        EXPECT_NEAR(static_cast<double>(head.output_length) / head.stream_length, wanted, wanted / 10);
        EXPECT_GE(head.stream_length, room * 9 / 10) << "the request is not padding";
        EXPECT_EQ(unpacked(request).size(), head.output_length);
    }
}

TEST(decompress_client, fits_into_any_request_size) {
    for (uint32_t room = 80; room < 400; ++room)
        for (const char *ratio : {"1", "3", "20"}) {
            const opened_handler client = open_message_handler(
                "decompress",
                {.role = WT_CLIENT, .request = room, .options = {{"ratio", ratio}, {"streams", "1"}}});
            const opened_handler server =
                open_message_handler("decompress", {.request = room, .options = {{"ratio", ratio}}});
            const bytes request = requested(client, room);
            const bytes content = unpacked(request);
            ASSERT_EQ(ask(server, request, 24).content[0], done) << room << " " << ratio;
        }
}

TEST(decompress, refuses_invalid_options) {
    const auto saying = [](const opening &how) { return refusal_of("decompress", how); };
    EXPECT_EQ(saying({.response = 23}),
              "decompress: a response body of 23 bytes is too small for the 24 bytes of this response");
    EXPECT_EQ(saying({.role = WT_CLIENT, .request = 79}),
              "decompress: a request body of 79 bytes is too short to be compressed: the minimum is 80");
    EXPECT_EQ(saying({.options = {{"ratio", "0.9"}}}), "decompress: ratio = 0.9 is not between 1 and 20");
    EXPECT_EQ(saying({.options = {{"ratio", "3:1"}}}),
              "decompress: ratio = \"3:1\" is not a number, as in ratio = 1.5");
    EXPECT_EQ(saying({.options = {{"level", "0"}}}), "decompress: level = 0 is not between 1 and 9");
    EXPECT_EQ(saying({.role = WT_CLIENT, .request = 80, .options = {{"streams", "0"}}}),
              "decompress: streams = 0 is not between 1 and 1024");
    EXPECT_NE(saying({.options = {{"library", "lz4"}}}).find("is none of zlib"), std::string::npos);
}

}  // namespace
}  // namespace wt::test::decompress_test
