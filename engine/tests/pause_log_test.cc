#include "core/pause_log.h"

#include <gtest/gtest.h>

namespace wt::test::pause_log_test {

TEST(PauseLog, KeepsTheLongestWaitOfAWindow) {
    pause_log log;
    for (uint64_t waited_ns : {100u, 100u, 450u, 500u}) log.look(waited_ns);
    EXPECT_EQ(log.take(), 350u);
}

TEST(PauseLog, StartsAnewWithEachWindow) {
    pause_log log;
    log.look(10'000);
    EXPECT_EQ(log.take(), 10'000u);
    EXPECT_EQ(log.take(), 0u);
    log.look(10'003);
    EXPECT_EQ(log.take(), 3u) << "what was waited for before is not waited for again";
}

}  // namespace wt::test::pause_log_test
