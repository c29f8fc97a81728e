// What a suite of the test program asks for: EAL, on ordinary memory, with no file left behind.
#pragma once

#include <source_location>

namespace wt::test {

// One object of it in <suite>.cc starts EAL before the tests of that file.
struct needs_eal {
    int megabytes;
    int lcores;        // each on all CPUs: one CPU would be that of all suites that run at the same time
    int (*prepare)();  // called before EAL starts: what is not 0 ends the program with that status
    const char *file;

    explicit needs_eal(int megabytes, int lcores = 1, int (*prepare)() = nullptr,
                       std::source_location here = std::source_location::current());
    needs_eal(const needs_eal &) = delete;
    needs_eal &operator=(const needs_eal &) = delete;
};

}  // namespace wt::test
