// Opening a table: is the plan one, do the rules fit it, is there memory; then its readers.
#include "parts/tables/library/table.h"

#include <rte_malloc.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <unordered_set>

#include "core/refusal.h"
#include "parts/tables/library/rules.h"
#include "parts/tables/library/table_parts.h"

namespace {

using namespace wt;

constexpr const wt_method *methods[] = {&wt_hash_method, &wt_fib_method,    &wt_lpm_method, &wt_lpm6_method,
                                        &wt_acl_method,  &wt_linear_method, &wt_tss_method};

std::string text_of(uint64_t number) { return std::to_string(number); }

// Where a rule stands, for words.
std::string place_of(const wt_rules &rules, uint64_t i) {
    return rules.lines ? std::string(rules.source) + ":" + text_of(rules.lines[i]) : "rule " + text_of(i);
}

void check_plan(const wt_table_plan &plan, const wt_method *method) {
    if (!method) throw refusal("unknown method " + text_of(plan.method));
    if (method->kind != plan.kind)
        throw refusal(std::string("method ") + method->name + " is for another kind of table");
    if (plan.kind == WT_LPM && plan.key_bytes != method->address_bytes)
        throw refusal("a key of " + text_of(plan.key_bytes) + " bytes: method " + method->name + " takes " +
                      (plan.method == WT_LPM_LIST ? "addresses of 4 and of 16" : "addresses of 4"));
    const uint32_t widest = plan.kind == WT_TERNARY ? WT_TERNARY_KEY_MOST : WT_KEY_MOST;
    if (plan.key_bytes < 4 || plan.key_bytes > widest || plan.key_bytes % 4 != 0)
        throw refusal("a key of " + text_of(plan.key_bytes) + " bytes: there are 4 to " + text_of(widest) +
                      ", in steps of 4");
    if (plan.capacity < 1 || plan.capacity > 1u << 24)
        throw refusal("a capacity of " + text_of(plan.capacity) + " rules is not between 1 and 2^24");
    if (!(plan.load > 0 && plan.load <= 1))
        throw refusal("load = " + std::to_string(plan.load) + " is not above 0 and at most 1");
    if (plan.lookup > WT_SINGLE || plan.access > WT_RCU || plan.entries > WT_POINTED)
        throw refusal("unknown lookup, access or entries");
    if (static_cast<double>(plan.capacity) / plan.load > 1u << 28)
        throw refusal("load = " + std::to_string(plan.load) + " needs more than 2^28 entries");
}

void check_rules(const wt_table_plan &plan, const wt_rules &rules) {
    if (rules.kind != plan.kind || rules.key_bytes != plan.key_bytes)
        throw refusal("its rules are of another kind or width than its keys");
    if (rules.count > plan.capacity)
        throw refusal(text_of(rules.count) + " rules are more than its capacity of " +
                      text_of(plan.capacity));
    uint64_t pair[2];
    if (plan.kind == WT_TERNARY && wt_rules_clash(&rules, pair))
        throw refusal(place_of(rules, pair[0]) + " and " + place_of(rules, pair[1]) +
                      " have the same key and mask");
}

// Blocks of 24 bits, of IPv6 also of 32, 40 and so on, that a longer prefix makes, with a quarter to spare
// for changes.
uint32_t deep_blocks(const wt_table_plan &plan, const wt_rules &rules) {
    if (plan.kind != WT_LPM) return 0;
    std::unordered_set<std::string> blocks;
    for (uint64_t i = 0; i < rules.count; ++i)
        for (uint32_t bytes = 3; 8 * bytes < rules.lengths[i]; ++bytes)
            blocks.emplace(reinterpret_cast<const char *>(wt_rules_at(&rules, i).key), bytes);
    const uint64_t wanted = std::max<uint64_t>(plan.deep_blocks, blocks.size() + blocks.size() / 4 + 256);
    return static_cast<uint32_t>(std::min<uint64_t>(wanted, 1u << 24));
}

// The order in which rules are added: a list by priority grows at its end.
std::vector<uint32_t> order_of(const wt_rules &rules) {
    std::vector<uint32_t> order(rules.count);
    std::iota(order.begin(), order.end(), 0u);
    if (rules.priorities)
        std::stable_sort(order.begin(), order.end(),
                         [&](uint32_t a, uint32_t b) { return rules.priorities[a] > rules.priorities[b]; });
    return order;
}

void check_rule(const wt_table &table, const wt_rule &rule, const std::string &place) {
    char text[256];
    if (wt_rule_check(table.plan.kind, table.plan.key_bytes, &rule, text, sizeof text) != 0)
        throw refusal(place + ": " + text);
    if (rule.length < table.method->shortest_prefix)
        throw refusal(place + ": rte_lpm has no prefix of 0 bits: take method fib");
    if (rule.value > table.method->most_value)
        throw refusal(place + ": value " + text_of(rule.value) + " is more than the " +
                      text_of(table.method->most_value) + " that method " + table.method->name + " can hold");
}

void fill(const wt_table &table, copy &filled, const wt_rules &rules) {
    char text[256];
    const wt_words words{text, sizeof text};
    for (const uint32_t i : order_of(rules)) {
        const wt_rule rule = wt_rules_at(&rules, i);
        uint32_t value;
        check_rule(table, rule, place_of(rules, i));
        // duplicates among ternary rules were searched before, in one pass over all
        if (table.plan.kind != WT_TERNARY && filled.find(rule, &value))
            throw refusal(place_of(rules, i) + " has the key of a rule before it");
        if (filled.add(rule, &words) != 0) throw refusal(place_of(rules, i) + ": " + text);
    }
    if (filled.commit(&words) != 0)
        throw refusal(rules.source ? std::string(rules.source) + ": " + text : std::string(text));
}

void make_bursts(wt_table &table) {
    const size_t bytes = rte_rcu_qsbr_get_memsize(WT_TABLE_READERS);
    table.bursts.reset(static_cast<rte_rcu_qsbr *>(rte_zmalloc(nullptr, bytes, RTE_CACHE_LINE_SIZE)));
    if (!table.bursts || rte_rcu_qsbr_init(table.bursts.get(), WT_TABLE_READERS) != 0)
        throw refusal("EAL's heap has no room for its readers");
}

std::unique_ptr<wt_table> open_table(const wt_table_plan &plan, const wt_rules &rules) {
    const auto begin = std::chrono::steady_clock::now();
    auto table = std::make_unique<wt_table>();
    table->plan = plan;
    table->plan.name = nullptr;
    table->method = wt_method_of(plan.method, plan.key_bytes);
    check_plan(plan, table->method);
    check_rules(plan, rules);
    const uint64_t before = heap_bytes();
    table->state.copies = plan.access == WT_RCU ? 2 : 1;
    const uint32_t blocks = deep_blocks(plan, rules);
    for (uint64_t i = 0; i < table->state.copies; ++i) {
        table->copies[i] = std::make_unique<copy>(table->plan, *table->method, blocks);
        fill(*table, *table->copies[i], rules);
    }
    if (plan.access == WT_RCU) make_bursts(*table);
    table->shown = table->copies[0]->shown();
    table->state.rules = rules.count;
    table->state.bytes = heap_bytes() - before;
    table->state.build_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return table;
}

}  // namespace

// The first of its id that takes such keys, else the first of its id: check_plan says which keys it takes.
const wt_method *wt_method_of(uint32_t id, uint32_t key_bytes) {
    const wt_method *found = nullptr;
    for (const wt_method *method : methods) {
        if (method->id != id) continue;
        if (method->kind != WT_LPM || method->address_bytes == key_bytes) return method;
        if (!found) found = method;
    }
    return found;
}

uint32_t wt_table_most_value(uint32_t method, uint32_t key_bytes) {
    const wt_method *found = wt_method_of(method, key_bytes);
    return found ? found->most_value : 0;
}

uint64_t wt_table_need(const wt_table_plan *plan) {
    const wt_method *method = wt_method_of(plan->method, plan->key_bytes);
    if (!method) return 0;
    const uint64_t entries = plan->entries == WT_POINTED ? plan->capacity * sizeof(wt_entry) : 0;
    return (plan->access == WT_RCU ? 2 : 1) * (method->need(plan) + entries) + (256 << 10);
}

wt_table *wt_table_open(const wt_table_plan *plan, const wt_rules *rules, char *error, size_t error_size) {
    const wt_words words{error, error_size};
    try {
        auto table = open_table(*plan, *rules);
        table->name = plan->name;
        return table.release();
    } catch (const std::exception &problem) {
        wt_say(&words, "table %s: %s", plan->name, problem.what());
        return nullptr;
    }
}

void wt_table_close(wt_table *table) { delete table; }

void wt_table_describe(const wt_table *table, wt_table_state *state) {
    *state = table->state;
    const void *structure = table->copies[table->read]->structure();
    if (table->method->places) state->places = table->method->places(structure);
    if (table->method->tuples) state->tuples = table->method->tuples(structure);
    if (state->places) state->load = static_cast<double>(state->rules) / static_cast<double>(state->places);
}

int wt_table_reader_open(wt_table *table, wt_table_reader *reader) {
    *reader = {};
    reader->copy = table->shown;
    const std::lock_guard<std::mutex> one_at_a_time(table->opening);
    while (reader->id < WT_TABLE_READERS && table->ids[reader->id]) ++reader->id;
    if (reader->id == WT_TABLE_READERS) return -1;
    table->ids[reader->id] = true;
    if (table->plan.access == WT_POINTER) return 0;
    reader->shared = &table->shown;
    reader->bursts = table->bursts.get();
    return rte_rcu_qsbr_thread_register(reader->bursts, reader->id) == 0 ? 0 : -1;
}

void wt_table_reader_close(wt_table *table, wt_table_reader *reader) {
    const std::lock_guard<std::mutex> one_at_a_time(table->opening);
    if (reader->bursts) rte_rcu_qsbr_thread_unregister(reader->bursts, reader->id);
    table->ids[reader->id] = false;
}
