// A table as its control path sees it: one copy or two, what readers read, and the changes that the other
// copy lacks.
#pragma once

#include <rte_rcu_qsbr.h>

#include <array>
#include <bitset>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/eal_memory.h"
#include "parts/tables/library/copy.h"

namespace wt {

// A change that outlives its caller's memory.
struct kept_change {
    explicit kept_change(const wt_change &change, uint32_t key_bytes);
    wt_rule rule() const;

    uint32_t kind, length, priority, value;
    std::array<uint8_t, WT_KEY_MOST> key;
    std::array<uint8_t, WT_TERNARY_KEY_MOST> mask;
    bool has_mask;
};

}  // namespace wt

struct wt_table {
    wt_table_plan plan{};
    std::string name;
    const wt_method *method = nullptr;
    std::array<std::unique_ptr<wt::copy>, 2> copies;  // the second with WT_RCU alone
    uint32_t read = 0;                                // the copy that readers read
    std::vector<wt::kept_change> lacking;             // what the other copy has not had yet
    uint64_t left = 0;    // qsbr's token: who came before it may be in the other copy
    bool broken = false;  // the copies have come apart: no more changes
    wt_table_state state{};

    std::unique_ptr<rte_rcu_qsbr, wt::eal_free> bursts;
    std::mutex opening;  // of readers
    std::bitset<WT_TABLE_READERS> ids;

    alignas(64) const wt_copy *volatile shown = nullptr;  // on a cache line that changes with it alone
};
