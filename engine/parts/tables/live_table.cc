#include "parts/tables/live_table.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "core/clock.h"
#include "core/refusal.h"
#include "core/run_on_cpu.h"

namespace wt {

namespace {

constexpr uint64_t most_spare = 1024, most_batch = 64;
constexpr size_t words_bytes = 512;
constexpr uint32_t ipv4_address_bytes = 4;

// Rule i stands in the table as 2i or 2i + 1: a change swaps the two, and either is right for its key.
uint32_t value_of(uint64_t rule, uint8_t version) { return static_cast<uint32_t>(rule << 1 | version); }

[[noreturn]] void refuse(const table_plan &plan, const char *words) {
    throw refusal("table " + plan.name + ": " + words);
}

// As the library needs it, with room for this number of rules.
wt_table_plan plan_for(const table_plan &plan, uint64_t rules) {
    wt_table_plan p{};
    p.name = plan.name.c_str();
    p.kind = in_library(plan.kind);
    p.method = in_library(plan.method);
    p.key_bytes = plan.key.bytes;
    p.lookup = in_library(plan.lookup);
    p.access = in_library(plan.access);
    p.entries = in_library(plan.entry);
    p.capacity = rules;
    p.load = plan.load;
    p.seed = plan.seed;
    return p;
}

}  // namespace

uint64_t table_need(const table_plan &plan) {
    wt_table_plan wanted = plan_for(plan, plan.rules + (plan.changes_per_s > 0 ? most_spare : 0));
    // of a router's prefixes one in 64 is longer than 24 bits, in a block of its own; a table opens with a
    // quarter more
    if (plan.prefixes == table_prefixes::mixed)
        wanted.deep_blocks = static_cast<uint32_t>(wanted.capacity / 64 * 5 / 4);
    // IPv6: from experience one block a rule, as in a list of sites; generated ones share more
    if (plan.kind == table_kind::lpm && wanted.key_bytes != ipv4_address_bytes)
        wanted.deep_blocks = static_cast<uint32_t>(wanted.capacity * 5 / 4);
    return wt_table_need(&wanted);
}

int open_generator(const table_plan &plan, wt_generator &generator, char *words, size_t room) {
    return wt_generator_open(&generator, in_library(plan.kind), plan.key.bytes, plan.rules,
                             in_library(plan.prefixes), plan.masks, plan.seed, words, room);
}

void load_rules(const table_plan &plan, rules_list &rules, wt_generator &generator) {
    char words[words_bytes] = "";
    generator = {};
    const int failed = plan.file ? wt_rules_read(plan.file->c_str(), in_library(plan.kind), plan.key.bytes,
                                                 &rules, words, sizeof words)
                                 : open_generator(plan, generator, words, sizeof words) ||
                                       wt_rules_generate(&generator, &rules, words, sizeof words);
    if (failed) refuse(plan, words);
}

live_table::live_table(const table_plan &plan, std::optional<int> change_cpu, int numa_socket) : plan_(plan) {
    load_rules(plan_, list_, generator_);
    data_.assign(list_.values, list_.values + list_.count);
    rules_ = list_.count;
    const uint32_t most = wt_table_most_value(in_library(plan_.method), plan_.key.bytes) / 2;
    if (list_.count > most) refuse(plan_, "more rules than values that its method can hold");
    for (uint64_t i = 0; i < list_.count; i++) list_.values[i] = value_of(i, 0);
    if (plan_.changes_per_s > 0 && generator_.kind != 0)
        spare_ = std::min({most_spare, generator_.most - generator_.count, most - list_.count});
    for (uint64_t i = 0; i < spare_; i++) data_.push_back(static_cast<uint32_t>(rules_ + i));

    char words[words_bytes] = "";
    wt_table_plan wanted = plan_for(plan_, list_.count + spare_);
    wanted.numa_socket = numa_socket;
    table_ = wt_table_open(&wanted, &list_, words, sizeof words);
    if (table_ == nullptr) throw refusal(words);  // they begin with its name
    note_state();
    if (plan_.changes_per_s == 0 || generator_.kind != 0)
        wt_rules_close(&list_), static_cast<wt_rules &>(list_) = {};
    if (plan_.changes_per_s == 0) return;
    version_.resize(rules_);
    changer_ = std::jthread([this, change_cpu](std::stop_token stop) { change(stop, change_cpu); });
}

live_table::~live_table() {
    if (changer_.joinable()) changer_.request_stop(), changer_.join();
    wt_table_close(table_);
}

void live_table::note_state() {
    wt_table_state s{};
    wt_table_describe(table_, &s);
    counters_.rules = s.rules;
    counters_.places = s.places;
    counters_.bytes = s.bytes;
    counters_.tuples = s.tuples;
    counters_.build_us = static_cast<uint64_t>(s.build_s * 1e6);
    counters_.changes = s.changes;
    counters_.commits = s.commits;
}

// Every second change gives a rule its other version; between them spare rules come, all, and go again, the
// last one first.
bool live_table::change_some(uint64_t count, std::mt19937_64 &random) {
    std::array<wt_change, most_batch> changes{};
    std::array<std::array<uint8_t, WT_KEY_MOST>, most_batch> keys, masks;
    std::vector<uint64_t> swapped;
    uint64_t there = spare_there_;
    const bool coming = there < spare_ && (there == 0 || counters_.commits % 2 == 0);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t rule = random() % rules_;
        const bool swaps = spare_ == 0 || i % 2 == 0 || (coming ? there == spare_ : there == 0);
        if (swaps && std::find(swapped.begin(), swapped.end(), rule) != swapped.end()) continue;
        changes[i].kind = WT_REPLACE;
        if (!swaps) {
            changes[i].kind = coming ? WT_ADD : WT_REMOVE;
            rule = rules_ + (coming ? there++ : --there);
        }
        changes[i].rule = generator_.kind != 0
                              ? wt_generated_rule(&generator_, rule, keys[i].data(), masks[i].data())
                              : wt_rules_at(&list_, rule);
        const uint8_t version = swaps ? version_[rule] ^ 1 : 0;
        changes[i].rule.value = value_of(rule, version);
        if (swaps) swapped.push_back(rule);
    }
    const auto made = std::remove_if(changes.begin(), changes.begin() + static_cast<ptrdiff_t>(count),
                                     [](const wt_change &c) { return c.kind == 0; });
    char words[words_bytes] = "";
    const auto number = static_cast<uint32_t>(made - changes.begin());
    if (wt_table_change(table_, changes.data(), number, words, sizeof words)) {
        if (counters_.refused.fetch_add(number) == 0)
            std::fprintf(stderr, "table %s: a change was refused: %s\n", plan_.name.c_str(), words);
        return false;
    }
    for (const uint64_t rule : swapped) version_[rule] ^= 1;
    spare_there_ = there;
    note_state();
    return true;
}

void live_table::change(std::stop_token stop, std::optional<int> cpu) {
    using clock = std::chrono::steady_clock;
    if (cpu) run_on_cpu(*cpu);  // one that went offline: the kernel chooses another
    std::mt19937_64 random(plan_.seed);
    auto start = clock::now();
    for (uint64_t done = 0; !stop.stop_requested();) {
        if (const auto since = held_since.load(std::memory_order_acquire)) {  // its core is another run's now
            held_since.wait(since, std::memory_order_acquire);
            start += clock::now() - clock::time_point(clock::duration(since));
        }
        const double seconds = std::chrono::duration<double>(clock::now() - start).count();
        const auto due = static_cast<uint64_t>(seconds * static_cast<double>(plan_.changes_per_s));
        if (due <= done) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            continue;
        }
        const uint64_t count = std::min(due - done, most_batch);
        if (!change_some(count, random)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        done += count;
        // who cannot keep up does not hurry after what it has missed: the counters say what was reached
        if (due - done > plan_.changes_per_s / 10 + most_batch) done = due;
    }
}

}  // namespace wt
