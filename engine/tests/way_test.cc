// What a look at a place shows. Other users' places are tried in wires_test, and as root.
#include "host/way.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace wt::test::way_test {
namespace {

namespace fs = std::filesystem;

TEST(Way, APlaceIsThereIfAllOfItsWayIs) {
    const fs::path directory = fs::temp_directory_path() / ("wt-way-" + std::to_string(getpid()));
    fs::create_directories(directory / "in");
    std::ofstream(directory / "in/file").put(0);
    fs::create_symlink("in/file", directory / "leads");
    fs::create_symlink("none/file", directory / "leads-nowhere");
    for (const char *place : {"in", "in/file", "leads"}) {
        const auto [other, is_there] = look_at_way(directory / place);
        EXPECT_TRUE(is_there && !other) << place;
    }
    for (const char *place : {"none", "none/file", "in/file/below", "leads-nowhere"}) {
        const auto [other, is_there] = look_at_way(directory / place);
        EXPECT_TRUE(!is_there && !other) << place;
    }
    fs::permissions(directory / "in", fs::perms::all);
    EXPECT_EQ(look_at_way(directory / "leads").other, "other users may write " + (directory / "in").string());
    fs::permissions(directory / "in", fs::perms::all | fs::perms::sticky_bit);
    EXPECT_FALSE(look_at_way(directory / "leads").other) << "as in /tmp";
    fs::remove_all(directory);
}

}  // namespace
}  // namespace wt::test::way_test
