// A test program that wants EAL: on ordinary memory and one core, with no file left behind.
#pragma once

#include <gtest/gtest.h>
#include <rte_eal.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace wt::test {

// All tests with EAL on so many megabytes; `lcores` as EAL's --lcores has them. Returns what main is to
// return.
inline int run_all_on_eal(int argc, char **argv, int megabytes, const char *lcores = "0@0") {
    ::testing::InitGoogleTest(&argc, argv);
    const std::string memory = std::to_string(megabytes),
                      prefix = "--file-prefix=wt-test-" + std::to_string(getpid());
    const char *eal[] = {
        argv[0], "--no-huge",      "--no-pci",          "-m",          memory.c_str(), "--lcores",
        lcores,  "--no-telemetry", "--log-level=error", prefix.c_str()};
    if (rte_eal_init(std::size(eal), const_cast<char **>(eal)) < 0) return 1;
    const int failed = RUN_ALL_TESTS();
    const std::string left = rte_eal_get_runtime_dir();  // EAL empties it and lets it stand
    rte_eal_cleanup();
    std::filesystem::remove_all(left);
    return failed;
}

}  // namespace wt::test
