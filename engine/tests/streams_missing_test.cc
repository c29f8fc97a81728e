// An engine that was built without TCP refuses streams in words. Starts no EAL.
#include <gtest/gtest.h>

#include "run/run.h"
#include "run/streams.h"
#include "stages/application.h"
#include "test_tools.h"

namespace wt::test::streams_missing_test {
namespace {

TEST(streams_missing, a_stream_is_refused_with_a_remedy) {
    const plan p{};
    const tsc_clock clock{};
    line_writer lines{-1};
    run_state f{p, lines, clock};
    application a;
    workload_plan w{};
    w.name = "bulk";
    EXPECT_EQ(refusal_of([&] { open_stream(f, a, {}, w); }),
              "workload bulk: this engine was built without TCP");
    EXPECT_FALSE(streams_unfinished(f));
    EXPECT_FALSE(streams_reset(f));
    EXPECT_TRUE(streams_of_run(f).empty());
}

}  // namespace
}  // namespace wt::test::streams_missing_test
