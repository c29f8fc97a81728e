// What a look at a place shows. Other users' places are tried in wires_test, and as root.
#include "host/way.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace wt::test::way_test {
namespace {

namespace fs = std::filesystem;

// A process may have another root, or stand in a directory that is mounted elsewhere: the text does not say
// so.
TEST(Way, NoLinkOfProcIsFollowed) {
    for (const char *place : {"/proc/self", "/proc/self/cwd", "/proc/self/root/tmp", "/proc/self/fd/0"}) {
        const auto [other, is_there] = look_at_way(place);
        EXPECT_TRUE(!is_there && other &&
                    other->ends_with("is a link of /proc, which leads where a process decides"))
            << place;
    }
    EXPECT_FALSE(look_at_way("/proc/" + std::to_string(getpid()) + "/status").other);
}

// It may never respond, and says of its files that they are whose it likes.
TEST(Way, NoFileSystemIsAskedThatAnotherUserServes) {
    if (geteuid() != 0 || access("/dev/fuse", W_OK) != 0) GTEST_SKIP() << "needs root and /dev/fuse";
    const fs::path directory = fs::temp_directory_path() / ("wt-way-" + std::to_string(getpid()));
    fs::create_directories(directory);
    const pid_t child = fork();
    if (child == 0) {
        alarm(30);
        const int nobody_reads_it = open("/dev/fuse", O_RDWR);
        const std::string options = "fd=" + std::to_string(nobody_reads_it) +
                                    ",rootmode=40000,user_id=54321,group_id=54321,allow_other";
        if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            mount("a\vuser_id=0,\fb\ruser_id=0", directory.c_str(), "fuse.user_id=0", 0, options.c_str()) !=
                0)
            _exit(2);
        const auto [other, is_there] = look_at_way(directory / "file");
        const bool refused = other && other->ends_with("a file system that a process of user 54321 serves");
        _exit(refused && !is_there && !make_on_own_way(directory / "new/below") ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    fs::remove_all(directory);
}

TEST(Way, WhereTheKernelDoesNotSayTheMountNothingIsBelieved) {
    const int lowest = open("/", O_PATH);
    close(lowest);
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit two{.rlim_cur = static_cast<rlim_t>(lowest) + 2, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &two);  // of the walk itself; none is left to ask with
    const auto [other, is_there] = look_at_way("/tmp");
    setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_TRUE(!is_there && other && other->ends_with("does not say on which mount it is"));
}

TEST(Way, WhatIsMadeIsMadeOnAnOwnWayAlone) {
    const fs::path directory = fs::temp_directory_path() / ("wt-way-" + std::to_string(getpid()));
    fs::create_directories(directory / "outside");
    EXPECT_TRUE(make_on_own_way(directory / "a/b/c"));
    EXPECT_TRUE(make_on_own_way(directory / "a/b/c"));
    EXPECT_EQ(fs::status(directory / "a/b").permissions(), fs::perms::owner_all);
    fs::create_symlink(directory / "none", directory / "leads-nowhere");
    EXPECT_FALSE(make_on_own_way(directory / "leads-nowhere"));
    std::ofstream(directory / "file").put(0);
    EXPECT_FALSE(make_on_own_way(directory / "file/below"));
    fs::create_symlink(directory / "outside", directory / "a/leads");
    fs::permissions(directory / "a", fs::perms::all);
    EXPECT_FALSE(make_on_own_way(directory / "a/leads/new"));
    EXPECT_TRUE(fs::is_empty(directory / "outside"));
    fs::remove_all(directory);
}

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
