// What a plan may say of match-action tables. Starts no EAL.
#include <gtest/gtest.h>

#include "parts/tables/pipeline.h"
#include "parts/tables/tests/valid_pipeline.h"
#include "strict_plan.h"
#include "valid_plan.h"

namespace wt::test::pipeline_plan_test {

using json = nlohmann::ordered_json;

namespace {

const plan_place here("/workloads/0/pipeline");

json plan_with_pipeline() {
    json plan = valid_plan();
    plan["workloads"][0]["packet_handler"]["name"] = "match_action";
    plan[here] = valid_pipeline();
    return plan;
}

std::string refusal_with(const plan_place &where, const json &value) {
    json plan = plan_with_pipeline();
    plan[where] = value;
    return refusal_of_plan(plan);
}

TEST(pipeline_plan, reads_every_key) {
    const plan plan = read_plan(plan_with_pipeline().dump());
    const pipeline_plan &p = *plan.workloads[0].pipeline;
    EXPECT_EQ(p.traffic, traffic::requests);
    EXPECT_EQ(p.body_offset, 16);
    EXPECT_TRUE(p.inner);
    EXPECT_EQ(p.change_cpu, 3);
    ASSERT_EQ(p.tables.size(), 2u);
    const table_plan &flows = p.tables[0], &metered = p.tables[1];
    EXPECT_EQ(flows.where, table_where::ingress);
    EXPECT_EQ(flows.kind, table_kind::lpm);
    EXPECT_EQ(flows.method, table_method::fib);
    EXPECT_EQ(flows.key.fields[0].place, key_place::body);
    EXPECT_EQ(flows.key.bytes, 4);
    EXPECT_EQ(flows.rules, 1000u);
    EXPECT_EQ(flows.file, std::nullopt);
    EXPECT_EQ(flows.prefixes, table_prefixes::n24);
    EXPECT_EQ(flows.access, table_access::rcu);
    EXPECT_EQ(flows.entry, table_entry::pointed);
    EXPECT_EQ(flows.action, table_action::rewrite);
    EXPECT_EQ(flows.seed, UINT64_MAX);
    EXPECT_EQ(flows.popularity, popularity::zipf);
    EXPECT_EQ(flows.expected, 4);
    EXPECT_EQ(metered.file, "/tmp/rules.csv");
    EXPECT_EQ(metered.meter->peak_bytes_per_s, 20u);
}

TEST(pipeline_plan, checks_what_keys_mean_for_one_another) {
    const auto refusal = [](const char *where, const json &value) {
        return refusal_with(here / plan_place(where), value);
    };
    EXPECT_EQ(refusal("/tables/1/where", "ingress"), "");
    EXPECT_EQ(refusal("/tables/0/where", "egress"), "");
    json plan = plan_with_pipeline();
    std::swap(plan["workloads"][0]["pipeline"]["tables"][0], plan["workloads"][0]["pipeline"]["tables"][1]);
    EXPECT_EQ(refusal_of_plan(plan),
              "plan: workloads[0].pipeline.tables[1].where: an ingress table stands behind one of egress");
    EXPECT_EQ(refusal("/tables/0/key/bytes", 8),
              "plan: workloads[0].pipeline.tables[0].key.bytes: 8 do not hold the 4 of the fields");
    EXPECT_TRUE(contains(refusal("/tables/0/key/bytes", 6), "key.bytes: 6 is not a multiple of 4"));
    EXPECT_TRUE(contains(refusal("/tables/0/key/fields/0/bytes", 3), "bytes: 3 is none of 1, 2, 4, 8, 16"));
    EXPECT_TRUE(contains(refusal("/tables/0/key/fields/0/offset", 9),
                         "key.fields[0]: is beyond the 12 bytes of body"));
    EXPECT_TRUE(contains(refusal("/tables/0/key/segments", 4), "is not that of 16 bytes"));
    EXPECT_TRUE(contains(refusal("/tables/1/expected", 9), "the body has no room"));
    EXPECT_TRUE(contains(refusal("/tables/0/rules", 0), "and file: one of them"));
    EXPECT_TRUE(contains(refusal("/tables/1/rules", 1), "and file: one of them"));
    EXPECT_TRUE(contains(refusal("/tables/1/meter", nullptr), "the action meters"));
    EXPECT_TRUE(contains(refusal("/tables/0/access", "pointer"), "is not rcu, but entries change"));
    EXPECT_TRUE(contains(refusal("/tables", json::array()), "tables: needs at least 1"));
    EXPECT_TRUE(contains(refusal_with(plan_place("/workloads/0/packet_handler/name"), "echo"),
                         "is not match_action"));
}

TEST(pipeline_plan, is_optional_and_so_is_the_cpu_of_changes) {
    EXPECT_EQ(refusal_with(here, nullptr), "");
    EXPECT_EQ(refusal_with(here / "change_cpu", nullptr), "");
}

TEST(pipeline_plan, has_strict_readers) {
    EXPECT_GT(expect_wanted_keys(plan_with_pipeline(), here), 50u);
    EXPECT_GT(expect_known_keys(plan_with_pipeline(), here), 6u);
    expect_types(plan_with_pipeline(), here);
}

TEST(pipeline_plan, refuses_unknown_values) {
    const auto refusal_of = [](const char *text) {
        return wt::test::refusal_of([&] { read_pipeline(text); });
    };
    EXPECT_NE(refusal_of("{"), "");
    EXPECT_NE(refusal_of("{}").find("missing"), std::string::npos) << refusal_of("{}");
    const char *none =
        R"({"traffic": "none", "body_offset": 0, "body_bytes": 0, "inner": false, "ipv6": false, "change_cpu": null, "tables": []})";
    EXPECT_NE(refusal_of(none), "");
}

}  // namespace
}  // namespace wt::test::pipeline_plan_test
