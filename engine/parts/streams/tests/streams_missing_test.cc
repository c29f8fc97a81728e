// An engine that was built without TCP refuses streams in words. Starts no EAL.
#include <gtest/gtest.h>

#include "parts/registry.h"
#include "run/run.h"
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
    const endpoint e{};
    workload_plan w{};
    w.name = "bulk";
    EXPECT_FALSE(ask_parts(&part::open_application, f, a, e, w)) << "it has messages";
    w.stream.emplace();
    EXPECT_EQ(refusal_of([&] { ask_parts(&part::open_application, f, a, e, w); }),
              "workload bulk: this engine was built without TCP");
    EXPECT_EQ(a.carrier, nullptr);
}

}  // namespace
}  // namespace wt::test::streams_missing_test
