// The plan's reader: what is right comes through unchanged, anything else is refused with its path.
#include "plan/plan.h"

#include <gtest/gtest.h>

#include "strict_plan.h"
#include "test_tools.h"
#include "valid_plan.h"

namespace wt::test::plan_test {

using json = nlohmann::ordered_json;
using pointer = json::json_pointer;

namespace {

std::string refusal_of(std::string_view text) {
    return wt::test::refusal_of([&] { wt::read_plan(text); });
}

std::string refusal_with(const char *where, const json &value) {
    json plan = valid_plan();
    plan[pointer(where)] = value;
    return refusal_of(plan.dump());
}

struct wrong_value {
    const char *where;
    json value;
    const char *words;
};

void expect_refusals(std::initializer_list<wrong_value> all) {
    for (const auto &[where, value, words] : all)
        EXPECT_TRUE(contains(refusal_with(where, value), words)) << where << ' ' << value << ' ' << words;
}

TEST(Plan, ReadsEveryKey) {
    const wt::plan p = wt::read_plan(valid_plan().dump());
    EXPECT_EQ(p.hash, "0f");
    EXPECT_EQ(p.title, "a plan");
    EXPECT_EQ(p.seed, UINT64_MAX);
    EXPECT_EQ(p.eal.args, (std::vector<std::string>{"--no-huge", "-m", "256"}));
    EXPECT_EQ(p.eal.memory, wt::memory_mode::no_huge);
    EXPECT_EQ(p.eal.file_prefix, "wt-test");
    EXPECT_EQ(p.accounting.level, wt::accounting::sampled);
    EXPECT_EQ(p.accounting.sample_every, 61u);
    EXPECT_EQ(p.accounting.interrupted_above_ns, 5000u);
    EXPECT_EQ(p.phases.messages, 1000u);
    EXPECT_EQ(p.hello_wait_ns, std::nullopt);
    ASSERT_EQ(p.endpoints.size(), 2u);
    const wt::endpoint_plan &client = p.endpoints[0];
    EXPECT_EQ(client.side, wt::side::client);
    EXPECT_EQ(p.endpoints[1].side, wt::side::server);
    EXPECT_EQ(client.ip.v4, 0x0a000001u);
    EXPECT_EQ(client.peer_ip->v4, 0x0a000002u);
    EXPECT_EQ(client.mac->bytes[0], 0x02);
    EXPECT_EQ(client.peer_mac->bytes[5], 0x02);
    EXPECT_EQ(client.udp_port, 4000);
    EXPECT_EQ(client.mtu, 1500);
    EXPECT_EQ(client.vlan->id, 100);
    EXPECT_EQ(client.vlan->priority, 5);
    EXPECT_EQ(client.pool.size, 2047u);
    EXPECT_EQ(client.pool.ops, wt::pool_ops::ring_mp_mc);
    EXPECT_EQ(client.port.wire, "ring");
    EXPECT_EQ(client.port.traits.front(), wt::trait::server);
    EXPECT_EQ(client.port.options.at("depth"), "64");
    EXPECT_EQ(client.port.tx_rs_thresh, 32);
    EXPECT_EQ(client.port.faults->loss, 0.25);
    EXPECT_EQ(client.port.faults->reorder, 1.0);
    EXPECT_EQ(client.port.faults->reorder_depth, 3u);
    EXPECT_EQ(client.batch.disp_tx, 2u);
    EXPECT_EQ(client.batch.app_rx, 1024u);
    EXPECT_EQ(client.response_mbuf, wt::response_mbuf::request);
    EXPECT_EQ(client.applications[0].dispatchers, (std::vector<uint32_t>{0, 1}));
    EXPECT_EQ(client.applications[0].inflight, 32u);
    EXPECT_EQ(client.dispatchers[1].queue, 1);
    EXPECT_EQ(p.workloads[0].response_bytes, wt::max_message_bytes);
    EXPECT_EQ(p.workloads[0].handler->options.at("state"), "64");
    EXPECT_FALSE(p.workloads[0].scan);
    EXPECT_EQ(p.workloads[0].client_applications, 1u);
    EXPECT_EQ(p.workloads[0].client_slots, 32u);
    EXPECT_EQ(p.workloads[0].load->mode, wt::load_mode::open);
    EXPECT_EQ(p.workloads[0].load->phases[0].rate_per_s, 1e6);
    EXPECT_EQ(p.workloads[0].load->phases[0].arrivals, wt::arrivals::poisson);
    EXPECT_FALSE(p.workloads[0].request_sizes);
    EXPECT_EQ(p.workloads[0].response_sizes->weights, (std::vector{1.5, 0.0}));
    EXPECT_EQ(p.workers[0].stages[1].stage, wt::stage_kind::disp_tx);
    EXPECT_EQ(p.workers[1].cpu, 1);
    EXPECT_EQ(p.record, "/tmp/record.pcap");
    EXPECT_EQ(p.trace->every, 997u);
    EXPECT_EQ(p.trace->limit_events, 1000u);
    EXPECT_EQ(p.raw_latency->limit, 10u);
    EXPECT_EQ(p.variants->settle_ns, 1000u);
    EXPECT_EQ(p.variants->order, (std::vector<uint32_t>{0, 1, 1}));
    const wt::variant_plan &other = p.variants->variants[1];
    EXPECT_EQ(other.name, "other");
    EXPECT_EQ(other.delays[0].stage, wt::stage_kind::app_tx);
    EXPECT_EQ(other.delays[0].ns, 2.5);
    EXPECT_EQ(other.batch.at(wt::side::client).at(wt::stage_kind::app_tx), 64);
    EXPECT_EQ(other.batch.at(wt::side::client).count(wt::stage_kind::nic_rx), 0u);
    EXPECT_EQ(other.batch.at(wt::side::server).at(wt::stage_kind::nic_rx), 8);
    EXPECT_EQ(other.inflight, 7u);
}

TEST(Plan, NullableKeysMayBeNull) {
    for (const char *where :
         {"/phases/messages", "/endpoints/1/peer_ip", "/endpoints/0/vlan", "/endpoints/0/peer_mac",
          "/endpoints/1/peer_udp_port", "/endpoints/0/port/rx_free_thresh",
          "/endpoints/0/port/tx_free_thresh", "/endpoints/0/port/tx_rs_thresh", "/endpoints/0/port/faults",
          "/workloads/0/handler", "/record", "/trace", "/raw_latency", "/variants",
          "/variants/variants/1/inflight"})
        EXPECT_EQ(refusal_with(where, nullptr), "") << where;
}

TEST(Plan, RefusesAnyKeyThatIsMissing) { EXPECT_GT(expect_wanted_keys(valid_plan(), pointer()), 100u); }

TEST(Plan, RefusesAnUnknownKeyAnywhere) { EXPECT_GT(expect_known_keys(valid_plan(), pointer()), 20u); }

TEST(Plan, RefusesAnyValueOfAnotherType) { expect_types(valid_plan(), pointer()); }

TEST(Plan, RefusesNumbersOutsideTheirRange) {
    EXPECT_EQ(refusal_with("/endpoints/0/mtu", 20), "plan: endpoints[0].mtu: 20 is below 68");
    EXPECT_EQ(refusal_with("/endpoints/0/mtu", 9001), "plan: endpoints[0].mtu: 9001 is above 9000");
    EXPECT_EQ(refusal_with("/endpoints/0/mtu", 1500.0),
              "plan: endpoints[0].mtu: 1500.0 is not a whole number");
    EXPECT_EQ(refusal_with("/phases/warmup_ns", -1), "plan: phases.warmup_ns: -1 is below 0");
    expect_refusals({
        {"/seed", 18446744073709551616.0, "not a whole number"},
        {"/endpoints/0/batch/nic_rx", 1025, "above 1024"},
        {"/endpoints/0/port/queues", 0, "below 1"},
        {"/endpoints/0/port/queues", 65, "above 64"},
        {"/endpoints/0/port/rx_descriptors", 65536, "above 32768"},
        {"/endpoints/0/port/faults/loss", 1.01, "above 1"},
        {"/endpoints/0/port/faults/loss", -0.01, "below 0"},
        {"/endpoints/0/port/faults/reorder_depth", 65, "above 64"},
        {"/endpoints/0/port/link/bits_per_s", 1e5, "below 1"},
        {"/endpoints/0/port/link/queue", 0, "below 1"},
        {"/workloads/0/request_bytes", 15, "below 16"},
        {"/workloads/0/response_bytes", 4194305, "above 4194304"},
        {"/workloads/0/load/phases/0/rate_per_s", -1, "below 0"},
        {"/workloads/0/load/phases/0/length_ns", 0, "below 1"},
        {"/workloads/0/response_sizes/bytes", json::array(), "response_sizes.bytes"},
        {"/workers/0/lcore", 0, "below 1"},
        {"/workloads/0/extra_ticks", 1000000001, "above 1000000000"},
    });
}

// Times are added up, and turned into ticks of 63 bits.
TEST(Plan, RefusesTimesWhoseSumOverflows) {
    for (const char *where :
         {"/phases/warmup_ns", "/phases/duration_ns", "/phases/window_ns", "/phases/drain_ns",
          "/accounting/interrupted_above_ns", "/workloads/0/timeout_ns", "/hello_wait_ns",
          "/workloads/0/load/phases/0/length_ns", "/workloads/0/load/phases/0/on_ns",
          "/workloads/0/load/phases/0/off_ns"})
        for (const uint64_t ns : {uint64_t{1'000'000'000'000'001}, UINT64_MAX})
            EXPECT_TRUE(contains(refusal_with(where, ns), "above 1000000000000000")) << where;
    EXPECT_TRUE(contains(refusal_with("/phases/messages", UINT64_MAX), "above"));
    EXPECT_TRUE(contains(refusal_with("/raw_latency/limit", UINT64_MAX), "above"));
}

TEST(Plan, RefusesMalformedWordsAndAddresses) {
    EXPECT_TRUE(
        contains(refusal_with("/endpoints/0/port/traits/0", "smoke"), "\"smoke\" is none of server, client"));
    EXPECT_TRUE(contains(refusal_with("/endpoints/0/pool/ops", "heap"), "none of"));
    for (const char *mac : {"", "02:00:00:00:00:0", "02:00:00:00:00:0G", "02:00:00:00:00:0A",
                            "02-00-00-00-00-01", "02:00:00:00:00:01:"})
        EXPECT_TRUE(contains(refusal_with("/endpoints/0/mac", mac), "MAC address")) << mac;
    for (const char *ip : {"", "10.0.0", "10.0.0.256", "fd00::1::2", "fd00::12345", "localhost"})
        EXPECT_TRUE(contains(refusal_with("/endpoints/0/ip", ip), "is not an IP address")) << ip;
    EXPECT_TRUE(contains(refusal_with("/record", std::string("/tmp/a\0b", 8)), "NUL"));
}

TEST(Plan, ChecksEveryIndex) {
    EXPECT_EQ(refusal_with("/endpoints/0/applications/0/workload", 1),
              "plan: endpoints[0].applications[0].workload: 1 points beyond the 1 workloads");
    expect_refusals({
        {"/endpoints/0/applications/0/dispatchers/1", 2, "2 dispatchers"},
        {"/endpoints/0/dispatchers/0/workload", 1, "1 workloads"},
        {"/endpoints/0/dispatchers/0/queue", 2, "2 queues"},
        {"/workers/0/stages/0/endpoint", 2, "2 endpoints"},
        {"/workers/0/stages/0/index", 1, "1 applications"},
        {"/workers/0/stages/1/index", 4294967295u, "2 dispatchers"},
    });
}

TEST(Plan, RefusesPlansThatCannotRun) {
    expect_refusals({
        {"/endpoints/0/ring_size", 48, "not a power of two"},
        {"/endpoints/0/udp_port", 65535, "no port for each"},
        {"/endpoints/0/peer_udp_port", 65535, "no port for each"},
        {"/endpoints/1/mtu", 1400, "both ends"},
        {"/endpoints/0/pool/data_room_bytes", 1645, "below the 1646"},
    });
    EXPECT_EQ(refusal_with("/endpoints/0/pool/data_room_bytes", 1646), "") << "with a tag";
    expect_refusals({
        {"/endpoints/1/applications/0/dispatchers", {0}, "no application"},
        {"/endpoints/1/side", "client", "a second client"},
        {"/endpoints/0/peer_ip", nullptr, "a client needs it"},
        {"/endpoints/0/applications/0/inflight", 0, "could never send"},
        {"/endpoints/0/applications/0/dispatchers/1", 0, "a dispatcher twice"},
        {"/endpoints/0/dispatchers/1/queue", 0, "another dispatcher's"},
        {"/endpoints/0/dispatchers/0/peers", json::array(), "needs a queue of the server"},
        {"/endpoints/0/dispatchers/0/peers", {1, 1}, "a queue twice"},
        {"/endpoints/0/dispatchers/0/peers", {0, 2}, "peers[1]: 2 points beyond the 2 queues of the server"},
        {"/endpoints/1/dispatchers/0/peers", {0}, "a server sends to who asks it"},
        {"/workloads/0/load", nullptr, "its client needs it"},
        {"/workloads/0/load/phases", json::array(), "an open loop needs one"},
        {"/workloads/0/load/phases/0/rate_per_s", 0, "it needs a rate"},
        {"/workloads/0/load/phases/0/length_ns", 100, "less than one message"},
        {"/workloads/0/load/phases/0/on_ns", 100, "belong together"},
        {"/workloads/0/load/lead", 1, "left to run again"},
        {"/workloads/0/response_bytes", 16, "above the largest, 16"},
        {"/workloads/0/response_sizes/weights", {1.0}, "one for each size"},
        {"/workloads/0/response_sizes/weights", {0, 0}, "all are 0"},
        {"/workloads/0/response_sizes/weights", {1.7e308, 1.7e308}, "beyond a number"},
        {"/workers/1/lcore", 1, "another worker's"},
        {"/probe_pairs/0/b", 2, "2 workers"},
        {"/probe_pairs/0/b", 0, "twice in a round"},
        {"/probe_pairs/0/round", 1, "rounds ascend from 0"},
        {"/workers/1/stages/0", {{"endpoint", 0}, {"stage", "disp_tx"}, {"index", 1}}, "has run before"},
    });
}

TEST(Plan, QueuesOfTheServerMayBeOtherThanTheClientsButNotOnAWireOfPairs) {
    json plan = valid_plan();
    plan["endpoints"][0]["dispatchers"][0]["peers"] = {0, 1};
    EXPECT_EQ(refusal_of(plan.dump()), "");
    plan["endpoints"][0]["port"]["traits"].push_back("paired_queues");
    EXPECT_TRUE(
        contains(refusal_of(plan.dump()), "peers: is another queue than 0, on a wire of paired queues"));
    plan["endpoints"][0]["dispatchers"][0]["peers"] = {0};
    EXPECT_EQ(refusal_of(plan.dump()), "");
}

TEST(Plan, PortsOfThePeerAreThoseOfItsQueues) {
    json plan = valid_plan();
    plan["endpoints"][1]["port"]["queues"] = 4;
    plan["endpoints"][0]["peer_udp_port"] = 65533;
    EXPECT_EQ(refusal_of(plan.dump()), "");
    plan["endpoints"][0]["dispatchers"][0]["peers"] = {0, 3};
    EXPECT_TRUE(contains(refusal_of(plan.dump()), "peer_udp_port: leaves no port for each of the 4 queues"));
}

TEST(Plan, RefusesVariantsThatCannotBe) {
    const json other = wt::test::valid_variants()["variants"][1];
    EXPECT_TRUE(contains(refusal_with("/variants/order/2", 2), "order[2]: 2 points beyond the 2 variants"));
    EXPECT_TRUE(
        contains(refusal_with("/variants/variants/0", other), "the first variant is the plan as it is"));
    for (const char *key : {"delays", "batch", "inflight"})
        EXPECT_TRUE(contains(refusal_with((std::string("/variants/variants/0/") + key).c_str(), other[key]),
                             "the first variant is the plan as it is"))
            << key;
    EXPECT_TRUE(contains(refusal_with("/variants/variants/1/name", "plain"), "another variant's already"));
    EXPECT_EQ(refusal_with("/variants/variants/1/batch/server", {{"nic_rx", 0}}),
              "plan: variants.variants[1].batch.server.nic_rx: 0 is below 1");
    EXPECT_TRUE(contains(refusal_with("/variants/variants/1/batch/server", {{"smoke", 1}}),
                         "batch.server.smoke: \"smoke\" is none of app_tx, "));
    EXPECT_TRUE(
        contains(refusal_with("/variants/variants/1/batch/peer", json::object()), "is none of client, "));
    EXPECT_EQ(
        refusal_with("/variants/variants/1/batch/server", {{"app_rx", 1}}),
        "plan: variants.variants[1].batch.server.app_rx: no worker of this plan runs app_rx of the server");
    expect_refusals({
        {"/variants/variants/1/delays/0/stage", "app_rx",
         "delays[0]: no worker of this plan runs app_rx of the client"},
        {"/variants/variants/1/delays/0/ns", 1'000'001, "above 1000000"},
        {"/endpoints/0/port/traits/0", "process_each", "another process"},
    });
}

TEST(Plan, RefusesVariantsOfALoadThatChanges) {
    json plan = valid_plan();
    json &phases = plan["workloads"][0]["load"]["phases"];
    phases.insert(phases.begin(), phases[0]);
    phases[0]["length_ns"] = 1'000'000;
    EXPECT_TRUE(contains(refusal_of(plan.dump()), "variants: workloads[0].load has phases"));
    json second = plan["workloads"][0];
    plan["workloads"][0]["load"]["lead"] = 1;
    EXPECT_EQ(refusal_of(plan.dump()), "");
    second["name"] = "second";
    plan["workloads"].push_back(second);
    EXPECT_TRUE(contains(refusal_of(plan.dump()), "variants: workloads[1].load has phases"));
}

TEST(Plan, RefusesVariantsBesideAnotherProcess) {
    json plan = valid_plan();
    plan["endpoints"].erase(0);
    plan["workers"].erase(0);
    plan["probe_pairs"] = json::array();
    plan["workers"][0]["stages"][0]["endpoint"] = 0;
    EXPECT_TRUE(contains(refusal_of(plan.dump()), "no worker of this plan runs app_tx of the client"));
    json &other = plan["variants"]["variants"][1];
    other["delays"] = json::array();
    other["batch"].erase("client");
    EXPECT_TRUE(contains(refusal_of(plan.dump()), "inflight: is given, but this plan has no client"));
    other["inflight"] = nullptr;
    EXPECT_EQ(refusal_of(plan.dump()), "");
    plan["hello_wait_ns"] = 1'000'000'000;
    EXPECT_TRUE(contains(refusal_of(plan.dump()), "variants: the peer is another process"));
}

TEST(Plan, RefusesMessagesOfMoreSegmentsThanAHeaderCounts) {
    json plan = valid_plan();
    for (json &e : plan["endpoints"]) e["mtu"] = 107;  // 63 bytes a segment
    plan["workloads"][0]["response_bytes"] = 4128721;  // a header and 65535 segments
    plan["workloads"][0]["response_sizes"] = nullptr;
    EXPECT_EQ(refusal_of(plan.dump()), "");
    plan["workloads"][0]["response_bytes"] = 4128722;
    EXPECT_TRUE(contains(refusal_of(plan.dump()), "65536 segments"));
}

TEST(Plan, RefusesMoreSlotsAndApplicationsThanAHeaderHolds) {
    json plan = valid_plan();
    const json workload = plan["workloads"][0];
    plan["workloads"] = json(256, workload);
    EXPECT_EQ(refusal_of(plan.dump()), "");
    plan["workloads"].push_back(workload);
    EXPECT_TRUE(contains(refusal_of(plan.dump()), "takes at most 256"));
    plan = valid_plan();
    // numbers: their count is looked at first, and the parser's time grows with the square of the objects
    plan["endpoints"][1]["applications"] = json(65536, 0);
    EXPECT_TRUE(contains(refusal_of(plan.dump()), "takes at most 65535"));
}

TEST(Plan, AHelloNeedsOneSideAndAnMtuThatHoldsIt) {
    EXPECT_TRUE(contains(refusal_with("/hello_wait_ns", 1), "both sides are in this plan"));
    EXPECT_TRUE(contains(refusal_with("/hello_wait_ns", 0), "hello_wait_ns"));
    json plan = valid_plan();
    plan["hello_wait_ns"] = 5;
    plan["variants"] = nullptr;
    plan["endpoints"].erase(1);
    plan["workers"].erase(1);
    plan["probe_pairs"] = json::array();
    EXPECT_EQ(wt::read_plan(plan.dump()).hello_wait_ns, 5u);
    plan["endpoints"][0]["mtu"] = 124;
    plan["workloads"][0].update({{"response_bytes", 16}, {"response_sizes", nullptr}});
    EXPECT_EQ(refusal_of(plan.dump()), "");
    plan["endpoints"][0]["mtu"] = 123;
    EXPECT_TRUE(contains(refusal_of(plan.dump()), "a hello does not fit"));
}

TEST(Plan, RefusesAnotherVersionFirst) {
    EXPECT_TRUE(contains(refusal_of(R"({"version": 1})"), "this engine reads version 3"));
}

TEST(Plan, RefusesInvalidJson) {
    for (const char *text : {"", "{", "nul", "[1,]", "{\"version\": NaN}", "{\"seed\": 1e999}", "{} {}",
                             "\"\xff\"", "{\"\xc3\x28\": 1}"})
        EXPECT_NE(refusal_of(text), "") << text;
    EXPECT_TRUE(contains(refusal_of("[]"), "must be an object"));
    EXPECT_TRUE(contains(refusal_of(R"({"seed": 1, "seed": 2})"), "\"seed\" twice"));
    EXPECT_TRUE(contains(refusal_of(std::string(1 << 20, '[')), "nested deeper"));
    const auto nested = [](size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
    EXPECT_TRUE(contains(refusal_of(nested(17)), "nested deeper than 16 levels"));
    EXPECT_FALSE(contains(refusal_of(nested(16)), "nested deeper"));
}

TEST(Plan, ShortensLongTextInMessages) {
    const std::string words = refusal_with("/endpoints/0/ip", std::string(1 << 16, 'x'));
    EXPECT_LT(words.size(), 200u);
    const std::string cut_inside_a_character =
        refusal_with("/endpoints/0/ip", std::string(59, '.') + "\u00e4\u00e4");
    EXPECT_NO_THROW(json(cut_inside_a_character).dump());  // still UTF-8
}

}  // namespace

}  // namespace wt::test::plan_test
