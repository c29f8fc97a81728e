// What a plan may say of streams. Starts no EAL.
#include <gtest/gtest.h>

#include "parts/copies/tests/copying_rig.h"
#include "plan/plan.h"
#include "test_tools.h"
#include "valid_plan.h"

namespace wt::test::streams_plan_test {

using json = nlohmann::ordered_json;

namespace {

std::string refusal_of(std::string_view text) {
    return wt::test::refusal_of([&] { wt::read_plan(text); });
}

TEST(streams_plan, a_stream_is_written_from_a_source_and_has_no_handler) {
    json plan = valid_plan();
    json &w = plan["workloads"][0];
    w.update({{"handler", nullptr}, {"packet_handler", nullptr}, {"pipeline", nullptr}});
    w["source"] = {{"bytes", 1 << 20}, {"order", "rotating"}};
    w["copies"] = copies_of();
    w["stream"] = {{"write_bytes", 4096}, {"send_buffer_bytes", 4096}, {"receive_buffer_bytes", 4096},
                   {"read_bytes", 1},     {"congestion", "cubic"},     {"checksums", true}};
    const json good = plan;
    EXPECT_EQ(refusal_of(good.dump()), "");
    const auto with = [&](const char *where, const json &value) {
        json bad = good;
        bad["workloads"][0][json::json_pointer(where)] = value;
        return refusal_of(bad.dump());
    };
    const std::string here = "plan: workloads[0].";
    EXPECT_EQ(with("/stream/write_bytes", 4000), here + "stream.write_bytes: is 4000, no multiple of 64");
    EXPECT_EQ(with("/stream/write_bytes", 4160), here + "stream.send_buffer_bytes: does not hold a write");
    EXPECT_EQ(with("/source/bytes", 4095), here + "source.bytes: does not hold a write");
    EXPECT_EQ(with("/copies/way", "wait_all"),
              here + "copies.way: is not pipelined, but the workload is a stream");
    for (const char *handler : {"handler", "packet_handler"}) {
        const json given = {{"name", "echo"}, {"options", json::object()}};
        EXPECT_EQ(with((std::string("/") + handler).c_str(), given),
                  here + "stream: is given, but so is a handler of messages or packets");
    }
    EXPECT_NE(with("/copies", nullptr), "");
    EXPECT_NE(with("/source", nullptr), "");
    json bare = good;
    bare["workloads"][0]["source"] = bare["workloads"][0]["copies"] = nullptr;
    EXPECT_EQ(refusal_of(bare.dump()), here + "source: is null, but a stream is written from a source");
    const std::vector<std::pair<std::string, json>> wrong = {{"write_bytes", 0},
                                                             {"write_bytes", (4 << 20) + 64},
                                                             {"send_buffer_bytes", 4095},
                                                             {"receive_buffer_bytes", (1 << 30) + 1},
                                                             {"read_bytes", 0},
                                                             {"congestion", "bbr"},
                                                             {"checksums", 1}};
    for (const auto &[key, value] : wrong)
        EXPECT_NE(with(("/stream/" + key).c_str(), value), "") << key << value;
}

}  // namespace
}  // namespace wt::test::streams_plan_test
