// The build id of the running executable, which is this test.
#include "report/build_id.h"

#include <gtest/gtest.h>

namespace wt::test::build_id_test {
namespace {

TEST(build_id, is_a_sha1_in_hex_and_constant) {
    const std::string id = build_id();
    EXPECT_EQ(id.size(), 40u);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_EQ(build_id(), id);
}

}  // namespace
}  // namespace wt::test::build_id_test
