// Lookups while another thread changes the table: every burst must be looked up in one state that the table
// was in during the call.
//
// The writer notes what the oracle says of a pool of keys after each change, before it makes the change. The
// reader asks how many changes were over before its burst and how many had begun after it: one of the states
// between must explain all responses of the burst together.
#include <rte_rcu_qsbr.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "parts/tables/tests/tables_tools.h"

namespace wt::test::tables_live_test {

namespace {

const wt::test::needs_eal eal(1024);

constexpr uint32_t pool = 48;  // keys, all in one burst

struct history {
    std::vector<std::array<uint32_t, pool>> responses;  // by state
    std::atomic<uint32_t> begun{0}, over{0};            // the last state of the table, at most and at least
};

class live
    : public testing::TestWithParam<std::tuple<uint32_t, std::pair<wt_table_lookup_mode, wt_table_entries>>> {
};

struct pair_of_states {
    std::vector<own_rule> rules;
    std::vector<std::vector<uint8_t>> keys;
    uint64_t random;
};

std::array<uint32_t, pool> responses_of(uint32_t kind, const pair_of_states &now) {
    std::array<uint32_t, pool> responses;
    for (uint32_t i = 0; i < pool; ++i) responses[i] = naive(kind, now.rules, now.keys[i]);
    return responses;
}

// Some rules go, some come, some take a new value; all matter to the pool.
std::vector<std::pair<uint32_t, own_rule>> next_changes(const wt_table_plan &plan, pair_of_states *now,
                                                        uint32_t state) {
    std::vector<std::pair<uint32_t, own_rule>> changes;
    for (uint32_t i = 0; i < 4; ++i) {
        own_rule rule = any_rule(plan.kind, plan.key_bytes, 12, 1000 + 4 * state + i, &now->random);
        const auto &key = now->keys[random_below(&now->random, pool)];
        for (uint32_t b = 0; b < plan.key_bytes; ++b)
            rule.key[b] = rule.mask.empty() ? key[b] : static_cast<uint8_t>(key[b] & rule.mask[b]);
        for (uint32_t bit = rule.length; plan.kind == WT_LPM && bit < 32; ++bit)
            rule.key[bit / 8] = static_cast<uint8_t>(rule.key[bit / 8] & ~(0x80 >> bit % 8));
        const auto same = std::find_if(now->rules.begin(), now->rules.end(),
                                       [&](const own_rule &other) { return other.place() == rule.place(); });
        if (same == now->rules.end()) {
            changes.emplace_back(WT_ADD, rule);
            now->rules.push_back(rule);
        } else if (random_below(&now->random, 2)) {
            same->value = rule.value;
            changes.emplace_back(WT_REPLACE, *same);
        } else {
            changes.emplace_back(WT_REMOVE, *same);
            now->rules.erase(same);
        }
    }
    while (now->rules.size() > 60) {
        const size_t i = random_below(&now->random, now->rules.size());
        const bool just_made = std::any_of(changes.begin(), changes.end(), [&](const auto &change) {
            return change.second.place() == now->rules[i].place();
        });
        if (just_made) continue;
        changes.emplace_back(WT_REMOVE, now->rules[i]);
        now->rules.erase(now->rules.begin() + static_cast<long>(i));
    }
    return changes;
}

void read_until(const wt_table *table, const std::vector<std::vector<uint8_t>> &keys, const history &past,
                const std::atomic<bool> &stop, std::atomic<uint64_t> *bursts, std::atomic<uint64_t> *wrong) {
    wt_table_reader reader;
    ASSERT_EQ(wt_table_reader_open(const_cast<wt_table *>(table), &reader), 0);
    std::array<uint32_t, pool> seen;
    while (!stop) {
        const uint32_t from = past.over.load();
        const std::vector<uint32_t> responses = looked_up(reader, keys);
        const uint32_t to = past.begun.load();
        std::copy(responses.begin(), responses.end(), seen.begin());
        uint32_t state = from;
        while (state <= to && past.responses[state] != seen) ++state;
        *wrong += state > to;
        ++*bursts;
        std::this_thread::yield();  // else it is put to sleep inside a burst, and the writer waits
    }
    wt_table_reader_close(const_cast<wt_table *>(table), &reader);
}

TEST_P(live, every_burst_is_looked_up_in_one_state) {
    const auto [method, way] = GetParam();
    wt_table_plan plan = plan_of(method);
    plan.lookup = way.first;
    plan.entries = way.second;
    plan.access = WT_RCU;
    plan.capacity = 80;
    pair_of_states now{{}, {}, method};
    now.rules = any_rules(plan, 40, &now.random);
    for (uint32_t i = 0; i < pool; ++i) now.keys.push_back(any_key(plan.key_bytes, &now.random));
    const table_ptr table = opened(plan, now.rules);
    const uint32_t states = method == WT_ACL ? 40 : is_long() ? 400 : 60;
    history past;
    past.responses.resize(states + 1);
    past.responses[0] = responses_of(plan.kind, now);
    std::atomic<uint64_t> bursts{0}, wrong{0};
    std::atomic<bool> stop{false};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i)
        readers.emplace_back([&] { read_until(table.get(), now.keys, past, stop, &bursts, &wrong); });
    uint32_t differ = 0;
    for (uint32_t state = 1; state <= states; ++state) {
        const auto changes = next_changes(plan, &now, state);
        past.responses[state] = responses_of(plan.kind, now);
        differ += past.responses[state] != past.responses[state - 1];
        past.begun = state;
        ASSERT_EQ(changed(table.get(), changes), "");
        past.over = state;
        if (state % 3 == 0)  // let the readers in, on however few cores
            for (const uint64_t seen = bursts; bursts < seen + 2;) std::this_thread::yield();
    }
    stop = true;
    for (std::thread &reader : readers) reader.join();
    EXPECT_EQ(wrong, 0u) << "of " << bursts;
    EXPECT_GT(bursts, 20u);
    EXPECT_GT(differ, states / 2) << "changes without effect prove nothing";
    wt_table_state state;
    wt_table_describe(table.get(), &state);
    EXPECT_EQ(state.commits, states);
}

// A reader that stays inside a burst: the copy that it may be reading is not touched until it leaves.
TEST(bursts, delay_the_second_change_and_not_the_first) {
    wt_table_plan plan = plan_of(WT_LINEAR);
    plan.access = WT_RCU;
    uint64_t random = 1;
    const std::vector<own_rule> rules = any_rules(plan, 4, &random);
    const table_ptr table = opened(plan, rules);
    wt_table_reader reader;
    ASSERT_EQ(wt_table_reader_open(table.get(), &reader), 0);
    rte_rcu_qsbr_thread_online(reader.bursts, reader.id);
    std::atomic<int> over{0};
    std::thread writer([&] {
        for (int i = 0; i < 2; ++i) {
            EXPECT_EQ(changed(table.get(), {{i ? WT_ADD : WT_REMOVE, rules[0]}}), "");
            ++over;
        }
    });
    while (over < 1) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(over, 1);
    rte_rcu_qsbr_thread_offline(reader.bursts, reader.id);
    writer.join();
    EXPECT_EQ(over, 2);
    wt_table_reader_close(table.get(), &reader);
}

// A key that cannot be read until the test has checked that the burst is announced.
struct {
    uint8_t *page;
    const wt_table_reader *reader;
    std::atomic<uint64_t> announced;
} looked_at;

void look(int) {
    looked_at.announced = looked_at.reader->bursts->qsbr_cnt[looked_at.reader->id].cnt;
    mprotect(looked_at.page, 4096, PROT_READ | PROT_WRITE);
}

TEST(bursts, are_announced_while_they_run) {
    wt_table_plan plan = plan_of(WT_LINEAR);
    plan.access = WT_RCU;
    uint64_t random = 1;
    const table_ptr table = opened(plan, any_rules(plan, 4, &random));
    wt_table_reader reader;
    ASSERT_EQ(wt_table_reader_open(table.get(), &reader), 0);
    looked_at.page =
        static_cast<uint8_t *>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    looked_at.reader = &reader;
    const auto before = std::signal(SIGSEGV, look);
    const uint8_t *key = looked_at.page;
    uint32_t value;
    wt_table_lookup(&reader, &key, 1, &value);
    std::signal(SIGSEGV, before);
    EXPECT_NE(looked_at.announced, 0u);  // 0: outside
    EXPECT_EQ(reader.bursts->qsbr_cnt[reader.id].cnt, 0u);
    munmap(looked_at.page, 4096);
    wt_table_reader_close(table.get(), &reader);
}

INSTANTIATE_TEST_SUITE_P(all, live,
                         testing::Combine(testing::ValuesIn(all_methods),
                                          testing::Values(std::pair{WT_BULK, WT_INLINE},
                                                          std::pair{WT_SINGLE, WT_POINTED})));

}  // namespace

}  // namespace wt::test::tables_live_test
