// A table of `match_action` that changes while it is read: both versions of a rule come up, added ones come
// and go, and no key ever finds another's rule. Starts EAL.
#include "parts/tables/live_table.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/clock.h"
#include "handler_tools.h"
#include "parts/tables/pipeline.h"
#include "parts/tables/tests/tables_tools.h"
#include "parts/tables/tests/valid_pipeline.h"
#include "test_tools.h"

namespace wt::test::live_table_test {
namespace {

const needs_eal eal(1024);

table_plan plan_of(table_kind kind, table_method method, uint32_t changes) {
    table_plan plan{};
    plan.name = "t";
    plan.kind = kind;
    plan.method = method;
    plan.key.bytes = kind == table_kind::lpm ? 4 : 16;
    plan.rules = 20;
    plan.prefixes = table_prefixes::n24;
    plan.masks = 4;
    plan.load = 0.5;
    plan.access = changes > 0 ? table_access::rcu : table_access::pointer;
    plan.changes_per_s = changes;
    plan.seed = 7;
    return plan;
}

struct seen {
    uint64_t versions[2] = {};  // times that a rule's other version, this one, came up
    uint64_t wrong = 0, missing = 0, added = 0;
};

// Looks every rule up, and so many beside them, for as long as it takes until all has been seen, or for some
// seconds.
seen watch(const table_plan &plan, uint64_t beside) {
    const live_table live(plan, std::nullopt, -1);
    wt_generator generator;
    char words[256];
    EXPECT_EQ(open_generator(plan, generator, words, sizeof words), 0);
    wt_table_reader reader;
    EXPECT_EQ(wt_table_reader_open(live.table(), &reader), 0);
    seen result;
    uint64_t random = 1;
    std::vector<uint32_t> last(plan.rules);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (std::chrono::steady_clock::now() < end &&
           !(result.versions[0] && result.versions[1] && (result.added || !beside)))
        for (uint64_t rule = 0; rule < plan.rules + beside; rule++) {
            uint8_t key[WT_KEY_MOST];
            wt_generated_key(&generator, rule, &random, key);
            const uint8_t *const view = key;
            uint32_t value = 0;
            const bool hit = wt_table_lookup(&reader, &view, 1, &value) != 0;
            if (rule >= plan.rules) {
                result.added += hit;
                // a pair's second rule lies inside its first, which matches where the second is missing
                result.wrong += hit && value >> 1 != rule && value >> 1 != (rule & ~uint64_t{1});
                continue;
            }
            result.missing += !hit;
            result.wrong += hit && value >> 1 != rule;
            if (hit) result.versions[value & 1] += (value & 1) != last[rule];
            if (hit) last[rule] = value & 1;
        }
    EXPECT_EQ(live.counters().refused, 0u);
    wt_table_reader_close(live.table(), &reader);
    return result;
}

TEST(live_table, both_versions_and_added_rules_are_looked_up) {
    for (const auto &[kind, method] : {std::pair{table_kind::exact, table_method::hash},
                                       {table_kind::lpm, table_method::fib},
                                       {table_kind::ternary, table_method::tss}}) {
        const seen result = watch(plan_of(kind, method, 50'000), 40);
        EXPECT_GT(result.versions[0], 0u) << name_of(method);
        EXPECT_GT(result.versions[1], 0u) << name_of(method);
        EXPECT_GT(result.added, 0u) << name_of(method);
        EXPECT_EQ(result.wrong, 0u) << name_of(method);
        EXPECT_EQ(result.missing, 0u) << name_of(method);
    }
}

TEST(live_table, stays_the_same_without_changes) {
    table_plan plan = plan_of(table_kind::exact, table_method::hash, 0);
    const live_table live(plan, std::nullopt, -1);
    EXPECT_EQ(live.rules(), 20u);
    EXPECT_EQ(live.entries(), 20u);
    EXPECT_EQ(live.counters().rules, 20u);
    EXPECT_EQ(live.counters().changes, 0u);
    EXPECT_EQ(live.data()[7], 7u);
    EXPECT_GT(table_need(plan), 0u);
}

TEST(live_table, states_the_memory_for_longer_prefixes) {
    table_plan plan = plan_of(table_kind::lpm, table_method::lpm, 0);
    plan.rules = 1'000'000;
    const uint64_t of_24_bits = table_need(plan);
    plan.prefixes = table_prefixes::mixed;
    EXPECT_GT(table_need(plan), of_24_bits + plan.rules / 64 * 1024);
}

// While two runs take turns, the core is the other one's.
TEST(live_table, changes_nothing_while_the_run_is_parked) {
    const live_table live(plan_of(table_kind::exact, table_method::hash, 50'000), std::nullopt, -1);
    const auto changes = [&] { return live.counters().changes.load(); };
    const auto wait_for_more = [&] {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        for (const uint64_t before = changes();
             changes() == before && std::chrono::steady_clock::now() < end;)
            std::this_thread::yield();
    };
    for (int turn = 0; turn < 3; turn++) {
        const uint64_t before = changes();
        wait_for_more();
        EXPECT_GT(changes(), before);
        held_since = std::chrono::steady_clock::now().time_since_epoch().count();
        uint64_t last = changes();
        // what was under way comes to its end
        for (int still = 0, looks = 0; still < 5 && looks < 200; still++, looks++) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            if (changes() != last) still = 0;
            last = changes();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_EQ(changes(), last);
        held_since = 0;
        held_since.notify_all();
    }
    wait_for_more();
}

// How many of 10 packets of 100 bytes its meter lets through.
int let_through(const opened_handler &handler) {
    int passed = 0;
    for (int i = 0; i < 10; i++) {
        bytes frame(100);
        // the checksum of a header of zeros but for 0x45
        frame[12] = 0x08, frame[14] = 0x45, frame[24] = 0xba, frame[25] = 0xff;
        wt_packet packet = {frame.data(), 100, 0, WT_PASS};
        handler.table().packet(handler.state(), &packet, 1);
        passed += packet.verdict == WT_FORWARD;
    }
    return passed;
}

// The table holds a default route, whose meter takes 10 bytes a second and at most 300 at once.
TEST(match_action, meters_by_run_time) {
    const auto file =
        std::filesystem::temp_directory_path() / ("wt-default-route-" + std::to_string(getpid()));
    std::ofstream(file) << "0.0.0.0/0,1\n";
    nlohmann::ordered_json json = valid_pipeline();
    json.update(
        {{"traffic", "none"}, {"body_bytes", 0}, {"inner", false}, {"ipv6", false}, {"change_cpu", nullptr}});
    json["tables"].erase(0);
    const nlohmann::ordered_json field = {{"place", "l3"}, {"bytes", 4}, {"offset", 16}};
    json["tables"][0]["key"]["fields"] = {field};
    json["tables"][0].update({{"file", file}, {"access", "pointer"}, {"per_core", true}, {"steered", false}});
    json["tables"][0]["meter"]["peak_bytes_per_s"] = 10;
    workload_plan workload{};
    workload.pipeline = read_pipeline(json.dump());
    const uint64_t minute = 60 * rte_get_tsc_hz();
    held_ticks = 2 * minute;
    wt_open about{};
    about.numa_socket = -1;
    about.role = WT_SERVER;
    const opened_handler handler(handler_named(WT_PACKET_HANDLER, "match_action"), about, {}, &workload);
    std::filesystem::remove(file);
    EXPECT_EQ(let_through(handler), 3);
    EXPECT_EQ(let_through(handler), 0);
    held_ticks -= minute;  // as if a minute had gone by that was no hold
    EXPECT_EQ(let_through(handler), 3);
    held_ticks = 0;
    EXPECT_EQ(let_through(handler), 3);
    EXPECT_EQ(let_through(handler), 0);
}

TEST(live_table, names_once_a_table_that_cannot_be_opened) {
    table_plan plan = plan_of(table_kind::lpm, table_method::lpm, 0);
    plan.method = table_method::hash;
    EXPECT_EQ(refusal_of([&] { const live_table live(plan, std::nullopt, -1); }),
              "table t: method hash is for another kind of table");
}

TEST(live_table, names_the_invalid_table) {
    table_plan plan = plan_of(table_kind::exact, table_method::hash, 0);
    plan.rules = 0;
    plan.file = "/nonexistent/rules";
    const std::string words = refusal_of([&] { const live_table live(plan, std::nullopt, -1); });
    EXPECT_TRUE(words.starts_with("table t: ")) << words;
}

}  // namespace
}  // namespace wt::test::live_table_test
