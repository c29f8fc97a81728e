// The command that the part adds to the engine. Starts no EAL.
#include <gtest/gtest.h>

#include <set>

#include "parts/registry.h"

namespace wt::test::rdma_command_test {
namespace {

TEST(rdma_command, prints_offers_or_null) {
    const part_command *command = find_command("--rdma");
    ASSERT_NE(command, nullptr);
    testing::internal::CaptureStdout();
    EXPECT_TRUE(command->print({}));
    const auto offers = nlohmann::json::parse(testing::internal::GetCapturedStdout());
    EXPECT_TRUE(offers.is_null() || offers.is_array());
    for (const auto &offer : offers)
        EXPECT_TRUE((std::set<std::string>{"rc", "ud", "rdm"}.contains(offer["type"]))) << offer;
}

TEST(rdma_command, takes_no_value) {
    const std::string value = "tcp";
    EXPECT_FALSE(find_command("--rdma")->print({&value, 1}));
    EXPECT_EQ(find_command("--rdmas"), nullptr);
}

}  // namespace
}  // namespace wt::test::rdma_command_test
