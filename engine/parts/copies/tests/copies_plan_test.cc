// What a plan may say of copies. Starts no EAL.
#include <gtest/gtest.h>

#include "plan/plan.h"
#include "test_tools.h"
#include "valid_plan.h"

namespace wt::test::copies_plan_test {

using json = nlohmann::ordered_json;

namespace {

std::string refusal_of(std::string_view text) {
    return wt::test::refusal_of([&] { wt::read_plan(text); });
}

json copied_plan() {
    json plan = valid_plan();
    plan["workloads"][0].update(R"({
        "source": {"bytes": 1048576, "order": "rotating"},
        "copies": {"engine": "dma", "options": {"device": "skeleton"}, "depth": 64, "batch": 32,
                   "way": "pipelined", "at_least_bytes": 256, "verify": true, "timeout_ns": 1000000000,
                   "lcores": [3], "model": null}})"_json);
    return plan;
}

TEST(copies_plan, reads_every_key) {
    const plan p = read_plan(copied_plan().dump());
    EXPECT_EQ(p.workloads[0].source->bytes, 1u << 20);
    EXPECT_EQ(p.workloads[0].source->order, source_order::rotating);
    const copies_plan &copies = *p.workloads[0].copies;
    EXPECT_EQ(copies.engine, "dma");
    EXPECT_EQ(copies.options.at("device"), "skeleton");
    EXPECT_EQ(copies.depth, 64u);
    EXPECT_EQ(copies.way, copy_way::pipelined);
    EXPECT_EQ(copies.at_least_bytes, 256u);
    EXPECT_TRUE(copies.verify);
    EXPECT_EQ(copies.lcores, (std::vector<uint32_t>{3}));
}

TEST(copies_plan, refuses_any_key_that_is_missing_or_of_another_type) {
    for (const std::string of : {"source", "copies"})
        for (const auto &[key, value] : copied_plan()["workloads"][0][of].items()) {
            json plan = copied_plan();
            json &changed = plan["workloads"][0][of];
            changed[key] = json::array({"?"});
            EXPECT_NE(refusal_of(plan.dump()), "") << of << key;
            changed.erase(key);
            EXPECT_TRUE(contains(refusal_of(plan.dump()), "key \"" + key + "\" is missing")) << of << key;
        }
}

TEST(copies_plan, a_source_brings_copies) {
    json plan = copied_plan();
    plan["workloads"][0]["copies"] = nullptr;
    EXPECT_EQ(refusal_of(plan.dump()), "plan: workloads[0].copies: is null, but requests come from a source");
    plan["workloads"][0]["source"] = nullptr;
    EXPECT_EQ(refusal_of(plan.dump()), "");
}

TEST(copies_plan, copies_without_a_source_are_the_handlers) {
    json plan = copied_plan();
    json &w = plan["workloads"][0];
    w["source"] = nullptr;
    EXPECT_EQ(refusal_of(plan.dump()), "");
    w["copies"]["way"] = "zero";
    json &port = plan["endpoints"][0]["port"];
    port.update({{"chains", true}, {"udp_checksum", false}, {"traits", {"client"}}});
    EXPECT_TRUE(contains(refusal_of(plan.dump()), "copies.way: is zero, but there is no source"));
    w["copies"]["way"] = "wait_all";
    w["copies"]["at_least_bytes"] = nullptr;
    EXPECT_TRUE(contains(refusal_of(plan.dump()), "at_least_bytes: is null, but there is no source"));
    w["copies"]["at_least_bytes"] = 0;
    w["handler"] = nullptr;
    EXPECT_TRUE(contains(refusal_of(plan.dump()), "copies: is given, but there is no source and no message"));
}

// With one worker, and no thread of a copier.
json modelling_plan() {
    json plan = copied_plan();
    json &workers = plan["workers"];
    while (workers.size() > 1) {
        for (const json &stage : workers.back()["stages"]) workers[0]["stages"].push_back(stage);
        workers.erase(workers.size() - 1);
    }
    plan["probe_pairs"] = json::array();
    json &copies = plan["workloads"][0]["copies"];
    copies.update({{"engine", "model"}, {"options", json::object()}, {"lcores", json::array()}});
    copies["model"] = {
        {"name", "dsa"},
        {"burst_ns", 40},
        {"copy_ns", {{{"bytes", 1}, {"value", 0}}}},
        {"poll_ns", 2.5},
        {"end_ns", 0},
        {"device",
         {{"latency_ns", 800},
          {"bytes_per_ns", {{{"bytes", 64}, {"value", 5.5}}, {{"bytes", 4096}, {"value", 30}}}},
          {"at_once", 4},
          {"queue", 128},
          {"reports_bursts", true}}}};
    return plan;
}

TEST(copies_plan, reads_the_numbers_of_an_engine) {
    const wt::plan plan = wt::read_plan(modelling_plan().dump());
    const wt::modelled_engine_plan &model = *plan.workloads[0].copies->model;
    EXPECT_EQ(model.name, "dsa");
    EXPECT_EQ(model.burst_ns, 40);
    EXPECT_EQ(model.copy_ns[0].bytes, 1u);
    EXPECT_EQ(model.poll_ns, 2.5);
    EXPECT_EQ(model.device->latency_ns, 800);
    EXPECT_EQ(model.device->bytes_per_ns[1].value, 30);
    EXPECT_EQ(model.device->at_once, 4);
    EXPECT_EQ(model.device->queue, 128u);
    EXPECT_TRUE(model.device->reports_bursts);
    json synchronous = modelling_plan();
    synchronous["workloads"][0]["copies"]["model"]["device"] = nullptr;
    EXPECT_EQ(refusal_of(synchronous.dump()), "");
}

TEST(copies_plan, models_copies_where_nothing_goes_on_meanwhile) {
    const auto refusal_of_change = [](const char *pointer, const json &value) {
        json plan = modelling_plan();
        plan[json::json_pointer(pointer)] = value;
        return refusal_of(plan.dump());
    };
    const std::string copies = "/workloads/0/copies", model = copies + "/model";
    json two = modelling_plan();
    two["workers"] = copied_plan()["workers"];
    EXPECT_TRUE(contains(refusal_of(two.dump()), "copies.model: is given for a run with 2 workers"));
    EXPECT_TRUE(
        contains(refusal_of_change((copies + "/lcores").c_str(), {3}), "beside a copier with a thread"));
    EXPECT_TRUE(contains(refusal_of_change("/endpoints/1/port/traits", {"server"}),
                         "copies.model: is given, and the wire ring has a time of its own"));
    for (const auto &[where, value, words] :
         {std::tuple{"/device/bytes_per_ns/0/bytes", json(4096), "bytes_per_ns[1].bytes: is not above"},
          {"/device/bytes_per_ns/1/value", json(0), "bytes_per_ns[1].value: is not above 0, and the curve"},
          {"/copy_ns", json::parse(R"([{"bytes": 2, "value": 1}, {"bytes": 1, "value": 1}])"),
           "copy_ns[1].bytes: is not above"},
          {"/device/bytes_per_ns", json::parse(R"([{"bytes": 2, "value": 0}])"),
           "bytes_per_ns[0].value: is not above 0"}})
        EXPECT_TRUE(contains(refusal_of_change((model + where).c_str(), value), words)) << where;
}

TEST(copies_plan, a_source_holds_the_body_of_a_request) {
    json plan = copied_plan();
    plan["workloads"][0]["source"]["bytes"] = 100;
    plan["workloads"][0]["request_bytes"] = 116;
    EXPECT_EQ(refusal_of(plan.dump()), "");
    plan["workloads"][0]["request_bytes"] = 117;
    EXPECT_EQ(refusal_of(plan.dump()),
              "plan: workloads[0].source.bytes: 100 do not hold the body of a request");
}

TEST(copies_plan, bodies_leave_without_a_copy_only_as_chains_that_nobody_sums) {
    json plan = copied_plan();
    json &port = plan["endpoints"][0]["port"];
    plan["workloads"][0]["copies"]["way"] = "zero";
    EXPECT_TRUE(contains(refusal_of(plan.dump()), "endpoints[0].port.chains: is false"));
    port["chains"] = true;
    EXPECT_TRUE(contains(refusal_of(plan.dump()), "endpoints[0].port.udp_checksum: is true"));
    port["udp_checksum"] = false;
    EXPECT_TRUE(contains(refusal_of(plan.dump()), "ring moves mbufs"));
    port["traits"] = {"client"};
    EXPECT_EQ(refusal_of(plan.dump()), "");
}

}  // namespace
}  // namespace wt::test::copies_plan_test
