// What a fuzzer finds ends it with words.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace wt {

inline void require(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

}  // namespace wt
