// Handlers by name, their options, and what is said about a plug-in that cannot be used.
#include "handlers/loading/plugin.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "handlers/loading/opened.h"
#include "handlers/loading/options.h"
#include "handlers/loading/registry.h"
#include "test_tools.h"

namespace wt::test::plugin_test {
namespace {

using test::refusal_of;
using given = std::map<std::string, std::string>;

std::string plugin(const std::string &name) {
    const char *directory = std::getenv("WT_TEST_PLUGINS");
    return std::string(directory ? directory : ".") + "/" + name + ".so";
}

// What loading says, after "handler .../name.so".
std::string loading(const std::string &name) {
    const std::string said = refusal_of([&] { load_plugin(plugin(name)); });
    const std::string who = "handler " + plugin(name);
    EXPECT_TRUE(said.starts_with(who)) << said;
    return said.substr(std::min(who.size(), said.size()));
}

opened_handler open_plugin(const std::string &name) {
    wt_open about = {};
    about.role = WT_SERVER;
    about.request_length = 70;
    return {load_plugin(plugin(name)), about, {}};
}

TEST(plugin, stays_loaded_while_it_is_referenced) {
    const opened_handler opened = open_plugin("good");
    EXPECT_STREQ(opened.table().name, "good");
    opened.table().message(opened.state(), nullptr, 0);
}

TEST(plugin, names_its_steps_and_counters_once_it_is_open) {
    opened_handler opened{load_plugin(plugin("steps")), {}, {}};
    ASSERT_EQ(opened.steps().names.size(), 3u);
    EXPECT_EQ(opened.steps().names[0].name, "frames");
    EXPECT_TRUE(opened.steps().names[0].traffic);
    EXPECT_FALSE(opened.steps().names[2].traffic);
    ASSERT_EQ(opened.counters().size(), 4u);
    EXPECT_STREQ(opened.counters()[3].of, "table");
    EXPECT_EQ(opened.counters()[3].kind, WT_COUNTER_ERROR);
}

TEST(plugin, counts_steps_only_where_counters_are_given) {
    opened_handler opened{load_plugin(plugin("steps")), {}, {}};
    uint8_t bytes[5][60] = {};
    wt_packet burst[5];
    for (size_t i = 0; i < 5; i++) burst[i] = {bytes[i], 60, 0, WT_PASS};
    opened.table().packet(opened.state(), burst, 5);
    EXPECT_EQ(opened.steps().taken[0].stamps, 0u);
    opened.steps().now = opened.steps().taken.data();
    opened.table().packet(opened.state(), burst, 5);
    EXPECT_EQ(opened.steps().taken[0].packets, 5u);
    EXPECT_EQ(opened.steps().taken[1].packets, 2u);
    for (size_t i = 0; i < 3; i++) EXPECT_EQ(opened.steps().taken[i].stamps, 1u);
}

TEST(plugin, is_refused_for_too_many_steps) {
    EXPECT_EQ(refusal_of([] { open_plugin("many_steps"); }), "good has more steps than 24");
}

TEST(plugin, is_refused_for_an_invalid_file) {
    EXPECT_EQ(loading("absent"), ": no such file");
    EXPECT_EQ(loading("no_symbol"), ": it has no symbol `wt_handler`");
    EXPECT_NE(loading("unresolved").find("undefined symbol: nobody_has_this"), std::string::npos);
    const std::filesystem::path text = std::filesystem::temp_directory_path() / "plugin_test_text.so";
    std::ofstream(text) << "this is no shared object";
    const std::string said = refusal_of([&] { load_plugin(text); });
    std::filesystem::remove(text);
    EXPECT_NE(said.find("cannot be loaded"), std::string::npos);
    EXPECT_NE(said.find("file too short"), std::string::npos);
}

TEST(plugin, is_refused_for_an_invalid_table) {
    EXPECT_EQ(loading("other_abi"), " was built for handler ABI 1, this engine has 3");
    EXPECT_EQ(loading("half_counters"), ": `counters` and `read_counters` must both be set");
    EXPECT_EQ(loading("wrong_size"),
              ": its table says it has 8 bytes, this engine's has " + std::to_string(sizeof(wt_handler)));
    EXPECT_EQ(loading("no_name"), ": the handler has no name");
    EXPECT_EQ(loading("no_kind"), ": kind 3 is neither WT_MESSAGE_HANDLER nor WT_PACKET_HANDLER");
    EXPECT_EQ(loading("no_open"), ": the hook `open` is missing");
    EXPECT_EQ(loading("no_message"), ": the hook `message` is missing: a message handler must have it");
    EXPECT_EQ(loading("no_packet"), ": the hook `packet` is missing: a packet handler must have it");
    EXPECT_EQ(loading("bad_option"), ": option colour = \"green\" is none of red, blue");
}

TEST(plugin, refuses_with_its_own_message) {
    EXPECT_EQ(refusal_of([] { open_plugin("refuses_at_open"); }), "good: no licence for 70 bytes");
    EXPECT_EQ(refusal_of([] { open_plugin("refuses_silently"); }), "good: open returned 42 without a reason");
    EXPECT_EQ(refusal_of([] { open_plugin("overlong_words"); }), "good: " + std::string(511, 'x'));
}

// The engine dies of it; its supervisor knows the phase that had been announced.
TEST(plugin, that_crashes_ends_the_process) { EXPECT_DEATH(open_plugin("crashes_at_open"), ""); }

TEST(handler_named, finds_built_in_handlers_and_plugins) {
    EXPECT_EQ(handler_named(WT_MESSAGE_HANDLER, "l_app").get(), find_handler(WT_MESSAGE_HANDLER, "l_app"));
    EXPECT_NE(find_handler(WT_MESSAGE_HANDLER, "empty"), find_handler(WT_PACKET_HANDLER, "empty"));
    EXPECT_EQ(find_handler(WT_PACKET_HANDLER, "l_app"), nullptr);
    EXPECT_STREQ(handler_named(WT_MESSAGE_HANDLER, plugin("good"))->name, "good");
}

TEST(handler_named, lists_the_known_handlers_in_a_refusal) {
    const std::string refused = refusal_of([] { handler_named(WT_PACKET_HANDLER, "l2fw"); });
    EXPECT_TRUE(
        refused.starts_with("no packet handler is called 'l2fw'; there are empty, echo, l2fwd, drop, work, "))
        << refused;
    EXPECT_EQ(refusal_of([] { handler_named(WT_PACKET_HANDLER, plugin("good")); }),
              "handler " + plugin("good") + " is a message handler; a packet handler is needed here");
}

TEST(options, are_resolved_in_the_order_of_the_list) {
    const wt_handler &table = *find_handler(WT_MESSAGE_HANDLER, "m_app");
    const given values = {{"range", "4096"}, {"pattern", "sequential"}};
    given resolved;
    for (const auto &[name, value] : resolve_options(table.name, options_of(table.options), values))
        resolved[name] = value;
    EXPECT_EQ(
        resolved,
        (given{{"state", "67108864"}, {"range", "4096"}, {"accesses", "8"}, {"pattern", "sequential"}}));
}

TEST(options, refuse_unknown_names) {
    const auto resolving = [](const char *handler, const given &values) {
        const wt_option *options = find_handler(WT_MESSAGE_HANDLER, handler)->options;
        return refusal_of([&] { resolve_options(handler, options_of(options), values); });
    };
    EXPECT_EQ(resolving("m_app", {{"sate", "1"}}),
              "m_app has no option 'sate'; it has state, range, accesses, pattern");
    EXPECT_EQ(resolving("l_app", {{"state", "1"}}), "l_app has no option 'state'; it has none");
    EXPECT_EQ(resolving("m_app", {{"pattern", "zigzag"}}),
              "m_app: option pattern = \"zigzag\" is none of random, sequential");
    for (const char *value : {"", "-1", "+1", " 1", "1 ", "1k", "0x10", "1.5", "18446744073709551616"}) {
        EXPECT_EQ(resolving("m_app", {{"state", value}}),
                  std::string("m_app: option state = \"") + value + "\" is not a whole number of bytes");
        EXPECT_EQ(resolving("m_app", {{"accesses", value}}),
                  std::string("m_app: option accesses = \"") + value + "\" is not a whole number");
    }
}

TEST(registry, meets_the_requirements_for_plugins) {
    std::set<std::pair<uint32_t, std::string>> names;
    for (const wt_handler *table : all_handlers()) {
        EXPECT_TRUE(names.emplace(table->kind, table->name).second) << table->name << " stands twice";
        EXPECT_NO_THROW(check_table(table->name, *table));
    }
    EXPECT_FALSE(names.empty());
}

TEST(registry, prints_json) {
    std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::tmpfile(), std::fclose);
    print_handlers(file.get(), all_handlers());
    std::rewind(file.get());
    const auto list = nlohmann::ordered_json::parse(file.get());
    ASSERT_EQ(list.size(), all_handlers().size());
    const auto named = [&](const std::string &kind, const std::string &name) {
        for (const auto &entry : list)
            if (entry["kind"] == kind && entry["name"] == name) return entry;
        return nlohmann::ordered_json();
    };
    EXPECT_EQ(named("message", "m_app")["options"][3],
              nlohmann::ordered_json({{"name", "pattern"},
                                      {"type", "choice"},
                                      {"default", "random"},
                                      {"choices", {"random", "sequential"}},
                                      {"help", "order in which the lines are visited"}}));
    EXPECT_EQ(named("message", "m_app")["options"][0]["type"], "bytes");
    EXPECT_TRUE(named("message", "m_app")["options"][0]["choices"].is_null());
    EXPECT_EQ(named("message", "kv")["options"].back()["type"], "file");
    EXPECT_EQ(named("packet", "l2fwd")["options"], nlohmann::ordered_json::array());
    EXPECT_EQ(named("packet", "l2fwd")["help"], "swaps the MAC addresses of any frame and sends it back");
}

}  // namespace
}  // namespace wt::test::plugin_test
