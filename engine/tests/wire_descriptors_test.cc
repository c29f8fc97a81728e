// Descriptors of wires: those that are built in meet all requirements, broken ones are
// refused by name, and plans are checked against them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "test_tools.h"
#include "valid_plan.h"
#include "wires/planned.h"
#include "wires/registry.h"
#include "wires_tools.h"

namespace wt::test::wire_descriptors_test {
namespace {

using json = nlohmann::ordered_json;
using test::contains;
using test::put_on;
using test::refusal_of;

json printed() {
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::tmpfile(), std::fclose);
    print_wires(file.get(), all_wires());
    std::rewind(file.get());
    return json::parse(file.get());
}

// Every test runs once for each wire of the engine: a new wire needs no change here.
struct EachWire : testing::TestWithParam<const wire *> {
    const wt_wire &about = GetParam()->about;
};

INSTANTIATE_TEST_SUITE_P(Conformance, EachWire, testing::ValuesIn(all_wires().begin(), all_wires().end()),
                         [](const auto &of) { return std::string(of.param->about.name); });

TEST_P(EachWire, IsComplete) {
    EXPECT_EQ(refusal_of([&] { check_wire(*GetParam()); }), "");
    EXPECT_EQ(find_wire(about.name), GetParam());
}

TEST_P(EachWire, HasOneLineOfHelpForItselfAndEachOption) {
    for (const char *text : {about.help, about.driver, about.peer, about.copies})
        EXPECT_FALSE(contains(text, "\n"));
    for (const wt_wire_option &o : wire_options(about)) {
        EXPECT_FALSE(contains(o.help, "\n")) << o.name;
        EXPECT_NE(o.help[std::string(o.help).size() - 1], '.') << o.name;
    }
}

TEST_P(EachWire, IsPrintedCompletely) {
    for (const json &entry : printed()) {
        if (entry["name"] != about.name) continue;
        EXPECT_EQ(entry["traits"], json(traits_of(about)));
        EXPECT_EQ(entry["options"].size(), wire_options(about).size());
        EXPECT_EQ(entry["needs"].size(), wire_needs(about).size());
        EXPECT_EQ(entry["most_queues"], about.most_queues);
        return;
    }
    FAIL() << about.name << " is not printed";
}

TEST_P(EachWire, AcceptsAPlanWithOnlyRequiredOptions) {
    json plan = test::valid_plan();
    plan["variants"] = nullptr;  // refused between two processes
    for (json &endpoint : plan["endpoints"]) put_on(endpoint, about.name);
    for (const wt_wire_option &o : wire_options(about))
        if (o.type == WT_WIRE_PCI) plan["endpoints"][1]["port"]["options"][o.name] = "0000:09:00.0";
    const bool both = has(*GetParam(), WT_WIRE_CLIENT);
    if (!both) test::leave_server(plan);
    EXPECT_EQ(refusal_of([&] { check_planned_wires(read_plan(plan.dump())); }), "");
}

TEST_P(EachWire, RefusesAPlanWithoutARequiredOption) {
    for (const wt_wire_option &o : wire_options(about)) {
        if (!(o.flags & WT_WIRE_REQUIRED)) continue;
        json plan = test::valid_plan();
        test::leave_server(plan);
        put_on(plan["endpoints"][0], about.name);
        plan["endpoints"][0]["port"]["options"].erase(o.name);
        const std::string words = refusal_of([&] { check_planned_wires(read_plan(plan.dump())); });
        EXPECT_TRUE(
            contains(words, "endpoints[0].port.options: option " + std::string(o.name) + " is missing"))
            << words;
    }
}

TEST_P(EachWire, RefusesAnUnknownOption) {
    const std::string words = refusal_of([&] { wire_values("x", about, {{"surprise", "1"}}); });
    EXPECT_TRUE(contains(words, std::string("the wire ") + about.name + " has no option 'surprise'"))
        << words;
}

TEST_P(EachWire, RefusesValuesOutOfRange) {
    for (const wt_wire_option &o : wire_options(about)) {
        std::vector<std::string> wrong = {""};
        if (o.type == WT_WIRE_BYTES || o.type == WT_WIRE_COUNT)
            wrong = {"", "x", "-1", "1.5", std::to_string(o.most + 1)};
        if (o.type == WT_WIRE_BOOL || o.type == WT_WIRE_CHOICE) wrong = {"", "maybe"};
        if (o.type == WT_WIRE_WORDS) wrong = {"maybe", std::string(o.fallback) + "|maybe"};
        if (o.most && o.type == WT_WIRE_INTERFACE) wrong.emplace_back(o.most + 1, 'x');
        for (const std::string &value : wrong)
            EXPECT_NE(refusal_of([&] { check_wire_value("x", o, value); }), "") << o.name << " = " << value;
    }
}

// A good descriptor, which tests break in one place.
std::vector<port> open_nothing(std::span<const wire_end>) { return {}; }
port_operations draining = [] {
    port_operations own = ethdev_operations;
    own.drain = [](const port &, const port &) { return 0u; };
    return own;
}();

struct broken {
    std::vector<wt_wire_option> options = {{.name = "size",
                                            .fallback = "64",
                                            .help = "of a frame",
                                            .least = 1,
                                            .most = 100,
                                            .type = WT_WIRE_BYTES,
                                            .scope = WT_WIRE_OF_WIRE},
                                           {.name = "file",
                                            .help = "a capture",
                                            .example = "x.pcap",
                                            .type = WT_WIRE_FILE,
                                            .scope = WT_WIRE_OF_WIRE,
                                            .flags = WT_WIRE_REQUIRED},
                                           {}};
    std::vector<wt_wire_need> needs = {
        {.kind = WT_NEEDS_ROOT, .why = "does"}, {.kind = WT_NEEDS_CAPTURE, .option = "file"}, {}};
    wire w = {.about = {.abi = WT_WIRE_ABI,
                        .size = sizeof(wt_wire),
                        .name = "odd",
                        .help = "a test",
                        .driver = "none",
                        .peer = "none",
                        .copies = "none",
                        .flags = WT_WIRE_SERVER,
                        .most_queues = 1,
                        .mbufs = {.frames = 1}},
              .open = open_nothing};
};

// The message about it, without its name, which must come first.
std::string said_of(const std::function<void(broken &)> &breaking, const std::string &name = "wire odd: ") {
    broken b;
    breaking(b);
    b.w.about.options = b.options.data();
    b.w.about.needs = b.needs.data();
    const std::string words = refusal_of([&] { check_wire(b.w); });
    if (words.empty()) return words;
    EXPECT_TRUE(words.starts_with(name)) << words;
    return words.substr(std::min(name.size(), words.size()));
}

TEST(BrokenWire, TheValidOneIsAccepted) {
    EXPECT_EQ(said_of([](broken &) {}), "");
}

TEST(BrokenWire, IsRefusedForItsLayoutFirst) {
    EXPECT_EQ(said_of([](broken &b) { b.w.about.abi = 7; }),
              "it was built for descriptor version 7, this engine has 1");
    EXPECT_TRUE(contains(said_of([](broken &b) { b.w.about.size = 8; }), "says it has 8 bytes"));
}

TEST(BrokenWire, IsRefusedWithoutItsTexts) {
    EXPECT_EQ(said_of([](broken &b) { b.w.about.name = nullptr; }, "wire without a name: "),
              "it has no name");
    EXPECT_TRUE(
        contains(said_of([](broken &b) { b.w.about.name = "Odd"; }, "wire Odd: "), "letters other than"));
    EXPECT_EQ(said_of([](broken &b) { b.w.about.help = nullptr; }), "it has no help");
    EXPECT_EQ(said_of([](broken &b) { b.w.about.driver = ""; }), "it has no driver");
    EXPECT_EQ(said_of([](broken &b) { b.w.about.peer = nullptr; }), "it has no peer");
    EXPECT_EQ(said_of([](broken &b) { b.w.about.copies = nullptr; }), "it has no copies");
}

TEST(BrokenWire, IsRefusedForFlagsThatContradictEachOther) {
    const auto with = [](uint32_t flags) {
        return said_of([flags](broken &b) {
            b.w.about.flags = flags;
            b.w.operations = &draining;
        });
    };
    constexpr uint32_t both = WT_WIRE_SERVER | WT_WIRE_CLIENT | WT_WIRE_BOTH_ENDS;
    EXPECT_TRUE(contains(with(0), "neither a server nor a client"));
    EXPECT_TRUE(contains(with(WT_WIRE_SERVER | 1u << 31), "an unknown flag"));
    EXPECT_TRUE(contains(with(WT_WIRE_SERVER | WT_WIRE_BOTH_ENDS), "no client"));
    EXPECT_TRUE(contains(with(WT_WIRE_SERVER | WT_WIRE_TOGETHER), "must both be ours"));
    EXPECT_TRUE(contains(with(WT_WIRE_SERVER | WT_WIRE_PROCESS_EACH), "must both be ours"));
    EXPECT_TRUE(contains(with(WT_WIRE_SERVER | WT_WIRE_EMULATES), "needs both ends"));
    EXPECT_TRUE(contains(with(both | WT_WIRE_MOVES_MBUFS), "opened together"));
    EXPECT_TRUE(contains(with(both | WT_WIRE_TOGETHER | WT_WIRE_PROCESS_EACH), "in one process and in two"));
    EXPECT_TRUE(
        contains(with(WT_WIRE_SERVER | WT_WIRE_SILENT | WT_WIRE_FOREIGN_PEER), "a foreign peer may respond"));
    EXPECT_TRUE(contains(with(WT_WIRE_SERVER | WT_WIRE_UNFILLED), "no option says how long"));
    EXPECT_EQ(with(both | WT_WIRE_TOGETHER | WT_WIRE_MOVES_MBUFS), "");
}

TEST(BrokenWire, IsRefusedForItsLimits) {
    EXPECT_TRUE(contains(said_of([](broken &b) { b.w.about.most_queues = 0; }), "0 queues at most"));
    EXPECT_TRUE(contains(said_of([](broken &b) { b.w.about.most_queues = 65; }), "65 queues at most"));
    EXPECT_TRUE(contains(said_of([](broken &b) { b.w.about.most_mtu = 1000; }), "without a reason"));
}

TEST(BrokenWire, IsRefusedForItsOptions) {
    const auto with = [](const std::function<void(wt_wire_option &)> &breaking) {
        return said_of([&](broken &b) { breaking(b.options[0]); });
    };
    EXPECT_EQ(with([](auto &o) { o.help = nullptr; }), "option size has no help");
    EXPECT_EQ(with([](auto &o) { o.type = 99; }), "option size has an unknown type: 99");
    EXPECT_EQ(with([](auto &o) { o.scope = 0; }), "option size has an unknown scope: 0");
    EXPECT_TRUE(contains(with([](auto &o) { o.flags = 8; }), "an unknown flag"));
    EXPECT_TRUE(contains(with([](auto &o) { o.choices = "a|b"; }), "has choices, but is not a choice"));
    EXPECT_TRUE(contains(with([](auto &o) { o.type = WT_WIRE_CHOICE; }), "a choice without choices"));
    EXPECT_TRUE(contains(with([](auto &o) { o.least = 200; }), "has no range"));
    EXPECT_TRUE(contains(with([](auto &o) { o.fallback = "101"; }), "is not from 1 to 100"));
    EXPECT_TRUE(contains(with([](auto &o) { o.fallback = nullptr; }), "neither required nor has a fallback"));
    EXPECT_TRUE(
        contains(with([](auto &o) { o.flags = WT_WIRE_REQUIRED; }), "is required, but has a fallback"));
    EXPECT_TRUE(contains(with([](auto &o) { o.timed = "64"; }), "is timed, but not a choice"));
    EXPECT_TRUE(contains(with([](auto &o) { o.lossy = "64"; }), "is lossy, but not a choice"));
    EXPECT_TRUE(contains(with([](auto &o) { o.packets = "64"; }), "is about packets, but not a choice"));
    EXPECT_TRUE(contains(said_of([](broken &b) { b.options[1].example = nullptr; }), "nor an example"));
    EXPECT_TRUE(contains(said_of([](broken &b) { b.options[1].flags |= WT_WIRE_FRAME; }), "but not a size"));
    EXPECT_TRUE(contains(with([](auto &o) { o.flags = WT_WIRE_ROLE; }), "is a role, but not an endpoint's"));
    EXPECT_EQ(said_of([](broken &b) { b.options.insert(b.options.begin(), b.options[0]); }),
              "it has two options size");
}

TEST(BrokenWire, IsRefusedForItsNeeds) {
    EXPECT_TRUE(contains(said_of([](broken &b) { b.needs[0].kind = 99; }), "has an unknown need: 99"));
    EXPECT_EQ(said_of([](broken &b) { b.needs[0].why = nullptr; }), "its need root has no reason");
    EXPECT_EQ(said_of([](broken &b) { b.needs[1].option = nullptr; }), "its need capture names no option");
    EXPECT_TRUE(
        contains(said_of([](broken &b) { b.needs[1].option = "fyle"; }), "no option of this wire: fyle"));
    EXPECT_EQ(said_of([](broken &b) { b.needs[1].option = "size"; }),
              "its need capture: the option size is not a file");
    EXPECT_TRUE(contains(said_of([](broken &b) { b.needs[1] = {}; }), "but needs no capture"));
}

TEST(BrokenWire, IsRefusedWithoutItsHooks) {
    EXPECT_EQ(said_of([](broken &b) { b.w.open = nullptr; }), "the hook `open` is missing");
    EXPECT_TRUE(contains(said_of([](broken &b) {
                             b.w.about.flags = WT_WIRE_SERVER | WT_WIRE_CLIENT | WT_WIRE_BOTH_ENDS |
                                               WT_WIRE_TOGETHER | WT_WIRE_MOVES_MBUFS;
                         }),
                         "the operation `drain` is missing"));
    port_operations silent = draining;
    silent.link = nullptr;
    EXPECT_TRUE(contains(said_of([&](broken &b) { b.w.operations = &silent; }), "are required"));
}

TEST(Wires, HaveUniqueNames) {
    EXPECT_NO_THROW(check_wires());
    std::set<std::string> names;
    for (const wire *w : all_wires()) EXPECT_TRUE(names.insert(w->about.name).second) << w->about.name;
    EXPECT_EQ(find_wire("smoke"), nullptr);
    EXPECT_TRUE(contains(refusal_of([] { wire_named("smoke"); }),
                         "no wire is called \"smoke\"; there are af_packet"));
}

// What a plan may not be, on wires with the traits in question.
std::string planned(json plan) {
    return refusal_of([&] { check_planned_wires(read_plan(plan.dump())); });
}

json on(const std::string &wire, bool alone = true) {
    json plan = test::valid_plan();
    for (json &endpoint : plan["endpoints"]) put_on(endpoint, wire);
    if (alone) test::leave_server(plan);
    return plan;
}

TEST(PlannedWires, MustExistInThisEngine) {
    json plan = on("ring", false);
    EXPECT_EQ(planned(plan), "");
    plan["endpoints"][1]["port"]["traits"] = {"server"};
    EXPECT_TRUE(
        contains(planned(plan), "endpoints[1].port.traits: they are not those of this engine's wire ring"));
    plan["endpoints"][0]["port"]["wire"] = "smoke";
    EXPECT_TRUE(contains(planned(plan), "plan: endpoints[0].port.wire: no wire is called \"smoke\""));
}

TEST(PlannedWires, BothEndsMustMatch) {
    EXPECT_TRUE(contains(planned(on("ring")), "a ring wire needs both its ends in one plan"));
    json plan = on("ring", false);
    put_on(plan["endpoints"][1], "null");
    EXPECT_TRUE(contains(planned(plan), "endpoints[1].port.wire: the other end is on the wire ring"));
    EXPECT_TRUE(
        contains(planned(on("pci", false)), "endpoints[1].port.options.pci: the other side has this NIC"));
    EXPECT_TRUE(contains(planned(on("pcap", false)), "no client may be on the wire pcap"));
}

TEST(PlannedWires, AHelloNeedsAWireWithAForeignPeer) {
    for (const char *wire : {"null", "pcap"}) {
        json plan = on(wire);
        plan["hello_wait_ns"] = 5;
        EXPECT_TRUE(contains(planned(plan), "this wire has no foreign peer")) << wire;
    }
    json plan = on("af_packet");
    plan["hello_wait_ns"] = 5;
    EXPECT_EQ(planned(plan), "");
}

TEST(PlannedWires, AreTimedByAnOption) {
    json plan = on("pcap");
    put_on(plan["endpoints"][0], "pcap", {{"replay", "/x.pcap"}, {"pace", "capture"}});
    EXPECT_EQ(plan["endpoints"][0]["port"]["traits"].back(), "timed");
    EXPECT_EQ(planned(plan), "");
    plan["endpoints"][0]["port"]["options"]["pace"] = "speed";
    EXPECT_TRUE(contains(planned(plan), "traits"));
}

}  // namespace
}  // namespace wt::test::wire_descriptors_test
