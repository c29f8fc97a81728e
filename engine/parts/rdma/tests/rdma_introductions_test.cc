// What two ends of RDMA tell each other before a connection stands, and what they learn of another plan.
#include <gtest/gtest.h>

#include "parts/rdma/rdma.h"
#include "test_tools.h"

namespace wt::test::rdma_introductions_test {
namespace {

TEST(Introduction, SaysWhoFits) {
    const std::string hash = std::string(32, 'a') + std::string(32, 'b');
    const std::string of_server = introduction_of(hash, side::server);
    EXPECT_LE(of_server.size(), longest_introduction);
    EXPECT_EQ(objection_to(side::server, of_server, of_server), "");
    EXPECT_EQ(objection_to(side::server, "wt1 9.9.9 " + std::string(32, 'b'), of_server),
              "the server's release is 9.9.9, this one " WT_VERSION);
    EXPECT_EQ(objection_to(side::server, introduction_of(std::string(64, 'c'), side::server), of_server),
              "the server has another plan: cccccccccccc, this side expects bbbbbbbbbbbb");
    for (const char *stray :
         {"", "HTTP/1.1", "wt1", "wt1 0.6.0", "wt2 0.6.0 aa", "wt1 \x1b]0;title\x07 aa", "wt1 0.6.0 \x1b[2J"})
        EXPECT_EQ(objection_to(side::client, stray, introduction_of(hash, side::client)),
                  "the client is no Windtunnel of this kind");
}

TEST(Introduction, WhoIsRefusedLearnsNoMoreOfThePlanThanAUserIsShown) {
    const std::string hash(64, 'a');
    EXPECT_EQ(shown_introduction(introduction_of(hash, side::server)),
              "wt1 " WT_VERSION " " + std::string(12, 'a'));
}

TEST(Introduction, WhoHasHeardOneEndCannotPassForTheOther) {
    std::string hash;
    for (int digit = 0; digit < 64; digit++) hash += "0123456789abcdef"[digit * 7 % 11];
    for (const side heard : {side::client, side::server}) {
        const side passed_for = other_side(heard);
        EXPECT_NE(objection_to(passed_for, introduction_of(hash, heard), introduction_of(hash, passed_for)),
                  "");
    }
}

}  // namespace
}  // namespace wt::test::rdma_introductions_test
