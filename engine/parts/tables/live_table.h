// A table that is open, and the thread that changes it while packets flow. Shared by the dispatchers of a
// workload, or one's own.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "parts/tables/in_library.h"
#include "plan/types.h"

namespace wt {

// Rules in memory that is given back.
struct rules_list : wt_rules {
    rules_list() : wt_rules{} {}
    ~rules_list() { wt_rules_close(this); }
    rules_list(const rules_list &) = delete;
    rules_list &operator=(const rules_list &) = delete;
};

// The rules of a table as planned: from its file, or generated. `generator` is filled in the second case,
// else its kind is 0. Throws refusal.
void load_rules(const table_plan &plan, rules_list &rules, wt_generator &generator);

// What generates its rules; non-zero with words for the user where it cannot.
int open_generator(const table_plan &plan, wt_generator &generator, char *words, size_t room);

// Bytes of EAL's heap that the table will want at most, spare rules of live changes included. Needs no EAL;
// rules of a file are not counted: their number stands in `rules` here.
uint64_t table_need(const table_plan &plan);

// What main reads while the table changes.
struct table_counters {
    std::atomic<uint64_t> rules{0}, places{0}, bytes{0}, tuples{0}, build_us{0}, changes{0}, commits{0},
        refused{0};
};

class live_table {
  public:
    // Throws refusal. `change_cpu`: where the thread that changes entries runs.
    live_table(const table_plan &plan, std::optional<int> change_cpu, int numa_socket);
    ~live_table();
    live_table(const live_table &) = delete;
    live_table &operator=(const live_table &) = delete;

    wt_table *table() const { return table_; }
    const std::vector<uint32_t> &data() const { return data_; }  // of a rule, for its action
    uint64_t rules() const { return rules_; }                    // that are always there
    uint64_t entries() const { return data_.size(); }            // those that live changes may add included
    const table_counters &counters() const { return counters_; }

  private:
    table_plan plan_;
    wt_table *table_ = nullptr;
    std::vector<uint32_t> data_;
    uint64_t rules_ = 0;
    table_counters counters_;
    // of live changes
    rules_list list_;  // where rules came from a file
    wt_generator generator_{};
    std::vector<uint8_t> version_;  // of each rule
    uint64_t spare_ = 0;            // rules that may be added, numbered from rules() on
    uint64_t spare_there_ = 0;      // how many of them are in the table
    std::jthread changer_;

    void note_state();
    void change(std::stop_token stop, std::optional<int> cpu);
    bool change_some(uint64_t count, std::mt19937_64 &random);
};

}  // namespace wt
