// fs_write and fs_read: the bytes go where the responses say, in memory and in real files, and nothing of the
// user's is touched.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "handler_tools.h"

namespace wt::test::fs_handlers_test {
namespace {

namespace fs = std::filesystem;

class fs_handlers : public ::testing::Test {
  protected:
    std::map<std::string, std::string> in_directory(const char *file) const {
        return {{"file", file}, {"directory", directory.string()}};
    }

    // The nameless files that this process holds in the directory, in the order in which they were made.
    std::vector<int> held() const {
        std::vector<int> descriptors;
        for (int descriptor = 0; descriptor < 256; ++descriptor) {
            std::error_code none;
            const auto link = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor), none).string();
            if (!none && link.starts_with(directory.string())) descriptors.push_back(descriptor);
        }
        return descriptors;
    }

    static bytes content(int descriptor) {
        bytes all(static_cast<size_t>(lseek(descriptor, 0, SEEK_END)));
        EXPECT_EQ(pread(descriptor, all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
        return all;
    }

    test::temporary_directory directory;
};

TEST_F(fs_handlers, write_appends_and_rotates) {
    const opened_handler handler =
        open_message_handler("fs_write", {.request = 30, .options = in_directory("100")});
    const auto files = held();
    ASSERT_EQ(files.size(), 2u);
    std::mt19937 random(1);
    std::vector<bytes> written;
    for (uint64_t i = 0; i < 8; ++i) {
        written.push_back(random_bytes(30, random));
        const bytes response =
            ask(handler, cut_body(random_cuts(30, random), written.back()), cut_body({24})).content;
        EXPECT_EQ(word_at(response, 0), i * 30) << "bytes stored before";
        EXPECT_EQ(word_at(response, 16), 0u);
    }
    // three fit in a file: 0-2 went to the first, 3-5 to the second, 6 and 7 to the first again
    const auto joined = [&](size_t from, size_t to) {
        bytes all;
        for (size_t i = from; i < to; ++i) all.insert(all.end(), written[i].begin(), written[i].end());
        return all;
    };
    EXPECT_EQ(content(files[0]), joined(6, 8));
    EXPECT_EQ(content(files[1]), joined(3, 6));
}

TEST_F(fs_handlers, write_in_memory_wraps_around) {
    const opened_handler handler =
        open_message_handler("fs_write", {.request = 30, .options = {{"file", "100"}}});
    for (uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(word_at(ask(handler, bytes(30), 16).content, 0), i * 30);
}

TEST_F(fs_handlers, write_takes_more_pieces_than_one_system_call) {
    const opened_handler handler = open_message_handler("fs_write", {.options = in_directory("1000")});
    std::mt19937 random(2);
    const bytes body = random_bytes(200, random);
    ask(handler, cut_body(std::vector<uint32_t>(200, 1), body), cut_body({16}));
    EXPECT_EQ(content(held()[0]), body);
}

TEST_F(fs_handlers, write_sends_no_response_when_it_cannot_store) {
    const opened_handler small = open_message_handler("fs_write", {.options = {{"file", "100"}}});
    EXPECT_EQ(ask(small, bytes(101), 16).flags, WT_NO_RESPONSE);
    EXPECT_EQ(word_at(ask(small, bytes(100), 16).content, 0), 0u) << "nothing counts as stored";
}

TEST_F(fs_handlers, write_continues_when_the_disk_is_full) {
    ::testing::internal::CaptureStderr();
    {
        const opened_handler handler = open_message_handler("fs_write", {.options = in_directory("1000")});
        const test::full_disk disk(100);
        EXPECT_EQ(ask(handler, bytes(80), 16).flags, 0);
        EXPECT_EQ(ask(handler, bytes(80), 16).flags, WT_NO_RESPONSE);
        EXPECT_EQ(word_at(ask(handler, bytes(20), 16).content, 0), 80u) << "there is room for this one";
    }
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "fs_write: 1 of 3 requests could not be stored and got no response: File too large\n");
}

TEST_F(fs_handlers, read_returns_the_same_from_memory_and_from_a_file) {
    const opened_handler memory =
        open_message_handler("fs_read", {.response = 2000, .options = {{"file", "100003"}}});
    const opened_handler file =
        open_message_handler("fs_read", {.response = 2000, .options = in_directory("100003")});
    const bytes whole = content(held()[0]);
    ASSERT_EQ(whole.size(), 100003u);
    std::mt19937_64 random(3);
    for (int round = 0; round < 500; ++round) {
        const bytes request = random_bytes(random() % 12, random);
        const uint32_t room = static_cast<uint32_t>(random() % 2000);
        const bytes response = ask(file, cut_body(random_cuts(request.size(), random), request),
                                   cut_body(random_cuts(room, random), 0xa5))
                                   .content;
        ASSERT_EQ(response, ask(memory, request, room).content);
        ASSERT_EQ(response.size(), room);
        if (room <= 16) continue;
        const uint64_t position = word_at(response, 0);
        ASSERT_LE(position + room - 16, whole.size());
        ASSERT_TRUE(std::equal(response.begin() + 16, response.end(),
                               whole.begin() + static_cast<ptrdiff_t>(position)));
    }
}

TEST_F(fs_handlers, read_finds_the_position_in_the_request) {
    const opened_handler handler =
        open_message_handler("fs_read", {.response = 116, .options = {{"file", "1000"}}});
    EXPECT_EQ(word_at(ask(handler, {7}, 16 + 100).content, 0), 7u) << "a request too short for 8 bytes";
    const bytes far = {0, 4, 0, 0, 0, 0, 0, 0, 9};
    EXPECT_EQ(word_at(ask(handler, far, 16 + 100).content, 0), 1024u % 901);
    EXPECT_EQ(word_at(ask(handler, far, 16 + 10).content, 0), 1024u % 901) << "whatever the room is";
    EXPECT_EQ(ask(handler, {7}, 5000).content.size(), 16u + 100u) << "no more than a response has room for";
}

TEST_F(fs_handlers, read_leaves_nothing_to_a_copier_where_the_kernel_copies) {
    EXPECT_TRUE(refusal_of("fs_read", {.options = in_directory("1000"), .copies = true})
                    .ends_with("leave out the directory, or the copies"));
    EXPECT_EQ(refusal_of("fs_read", {.options = {{"file", "1000"}}, .copies = true}), "");
}

// A response as the server writes it and the client checks it, in parts cut anywhere, each with every single
// byte wrong.
TEST_F(fs_handlers, read_checks_every_byte_of_a_response) {
    for (const bool scan : {false, true})
        for (const uint32_t request : {0u, 3u, 8u, 30u}) {
            const opening how = {
                .request = request, .response = 61, .scan = scan, .options = {{"file", "1000"}}};
            opening as_client = how;
            as_client.role = WT_CLIENT;
            as_client.seed = 99;  // of the client alone: what a file holds does not depend on it
            const opened_handler server = open_message_handler("fs_read", how),
                                 client = open_message_handler("fs_read", as_client);
            const cut_body asked({request});
            const wt_message message = asked.message();
            client.table().request(client.state(), &message, 1);
            client.table().request(client.state(), &message, 1);
            bytes response = ask(server, asked, cut_body({61})).content;
            ASSERT_EQ(response.size(), 61u);
            uint64_t first_bytes = 0;
            std::memcpy(&first_bytes, asked.get(request).data(), std::min<size_t>(request, 8));
            for (const uint32_t from : {0u, 5u, 16u, 17u, 40u})
                for (uint32_t wrong_at = 0; wrong_at <= 61; ++wrong_at) {
                    if (wrong_at < 61) response[wrong_at] ^= 4;
                    wt_part part = {response.data() + from, 61 - from, from, first_bytes, 77, 0};
                    client.table().check(client.state(), &part, 1);
                    const bool is_wrong = wrong_at < 61 && wrong_at >= from;
                    ASSERT_EQ(part.wrong, is_wrong)
                        << scan << " " << request << " " << from << " " << wrong_at;
                    if (is_wrong) {
                        ASSERT_EQ(part.first, wrong_at - from);
                    }
                    if (wrong_at < 61) response[wrong_at] ^= 4;
                }
            wt_part another = {response.data(), 61, 0, first_bytes + 1, 0, 0};
            client.table().check(client.state(), &another, 1);
            EXPECT_GT(another.wrong, 40u);
            EXPECT_EQ(another.first, 0u);
        }
}

TEST_F(fs_handlers, read_sends_no_response_when_it_cannot_read) {
    ::testing::internal::CaptureStderr();
    {
        const opened_handler handler =
            open_message_handler("fs_read", {.response = 516, .options = in_directory("1000")});
        ASSERT_EQ(ftruncate(held()[0], 500), 0);
        EXPECT_EQ(ask(handler, {0}, 16 + 500).flags, 0);
        EXPECT_EQ(ask(handler, {1}, 16 + 500).flags, WT_NO_RESPONSE);
    }
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "fs_read: 1 of 2 requests could not be read and got no response: Input/output error\n");
}

TEST_F(fs_handlers, read_client_asks_in_order_or_at_random) {
    const auto position = [](const opened_handler &client) {
        const cut_body request({3, 17}, 0xa5);
        const wt_message message = request.message();
        client.table().request(client.state(), &message, 1);
        const bytes body = request.get(20);
        EXPECT_EQ(bytes(body.begin() + 8, body.end()), bytes(12, 0));
        return word_at(body, 0);
    };
    const opened_handler on = open_message_handler(
        "fs_read", {.role = WT_CLIENT, .response = 116, .options = {{"pattern", "sequential"}}});
    for (uint64_t i = 0; i < 5; ++i) EXPECT_EQ(position(on), i * 100);
    const opened_handler random = open_message_handler("fs_read", {.role = WT_CLIENT});
    const opened_handler same = open_message_handler("fs_read", {.role = WT_CLIENT});
    const uint64_t first = position(random), second = position(random);
    EXPECT_NE(first, second);
    EXPECT_EQ(position(same), first);
}

TEST_F(fs_handlers, remove_their_files) {
    {
        const opened_handler write = open_message_handler("fs_write", {.options = in_directory("100")});
        const opened_handler read = open_message_handler("fs_read", {.options = in_directory("100")});
        EXPECT_TRUE(fs::is_empty(directory)) << "nothing is left after a crash either";
        EXPECT_EQ(held().size(), 3u);
    }
    EXPECT_EQ(held().size(), 0u);
}

TEST_F(fs_handlers, refuse_invalid_options) {
    const auto refusal_of = [](const std::string &name, const std::map<std::string, std::string> &options) {
        return wt::test::refusal_of(name, {.options = options});
    };
    for (const std::string name : {"fs_write", "fs_read"}) {
        EXPECT_EQ(refusal_of(name, {{"directory", "/nowhere"}}),
                  name + ": cannot create a file in directory /nowhere: No such file or directory");
        EXPECT_EQ(refusal_of(name, {{"file", "63"}}),
                  name + ": file = 63 bytes does not hold the 64 of a message");
        EXPECT_EQ(refusal_of(name, in_directory("18446744073709551615")),
                  name + ": file = 18446744073709551615 bytes is larger than a file can be");
    }
    EXPECT_EQ(held().size(), 0u);
}

}  // namespace
}  // namespace wt::test::fs_handlers_test
