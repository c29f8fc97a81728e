// engine_tests SUITE [GTEST_ARGUMENT...] runs the tests of SUITE.cc, on EAL where that file asks for it. One
// program of all suites is linked once; Meson starts a process for each suite.
#include <gtest/gtest.h>
#include <rte_eal.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "suite.h"

namespace wt::test {
namespace {

std::vector<const needs_eal *> &wishes() {
    static std::vector<const needs_eal *> all;
    return all;
}

std::string suite_of(const char *file) { return std::filesystem::path(file).stem().string(); }

// What --gtest_filter says, less the tests of other files. Gives how many tests this suite has.
int leave_others_out(const std::string &suite) {
    std::string filter = GTEST_FLAG_GET(filter);
    if (filter.find('-') == std::string::npos) filter += '-';
    int own = 0;
    const auto &program = *testing::UnitTest::GetInstance();
    for (int i = 0; i < program.total_test_suite_count(); i++) {
        const testing::TestSuite &tests = *program.GetTestSuite(i);
        for (int j = 0; j < tests.total_test_count(); j++) {
            const testing::TestInfo &test = *tests.GetTestInfo(j);
            if (suite_of(test.file()) == suite)
                own++;
            else
                filter += std::string(":") + tests.name() + "." + test.name();
        }
    }
    GTEST_FLAG_SET(filter, filter);
    return own;
}

// As EAL's --lcores has them: each on all CPUs that this process may use.
std::string floating(int lcores) {
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    std::string cpus, all;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed)) cpus += (cpus.empty() ? "" : ",") + std::to_string(cpu);
    for (int lcore = 0; lcore < lcores; lcore++)
        all += (all.empty() ? "" : ",") + std::to_string(lcore) + "@(" + cpus + ")";
    return all;
}

int run_all_on_eal(const char *program, const needs_eal &wish) {
    const std::string memory = std::to_string(wish.megabytes), lcores = floating(wish.lcores),
                      prefix = "--file-prefix=wt-test-" + std::to_string(getpid());
    const char *eal[] = {
        program,        "--no-huge",      "--no-pci",          "-m",          memory.c_str(), "--lcores",
        lcores.c_str(), "--no-telemetry", "--log-level=error", prefix.c_str()};
    if (rte_eal_init(std::size(eal), const_cast<char **>(eal)) < 0) return 1;
    const int failed = RUN_ALL_TESTS();
    const std::string left = rte_eal_get_runtime_dir();  // EAL empties it and lets it stand
    rte_eal_cleanup();
    std::filesystem::remove_all(left);
    return failed;
}

}  // namespace

needs_eal::needs_eal(int megabytes, int lcores, int (*prepare)(), std::source_location here)
    : megabytes(megabytes), lcores(lcores), prepare(prepare), file(here.file_name()) {
    wishes().push_back(this);
}

}  // namespace wt::test

int main(int argc, char **argv) {
    using namespace wt::test;
    testing::InitGoogleTest(&argc, argv);
    if (argc != 2 || leave_others_out(argv[1]) == 0) {
        std::fprintf(stderr, "usage: %s SUITE [GTEST_ARGUMENT...]; a suite is a file of engine/tests\n",
                     argv[0]);
        return 2;
    }
    for (const needs_eal *wish : wishes()) {
        if (suite_of(wish->file) != argv[1]) continue;
        if (const int status = wish->prepare ? wish->prepare() : 0) return status;
        return run_all_on_eal(argv[0], *wish);
    }
    return RUN_ALL_TESTS();
}
