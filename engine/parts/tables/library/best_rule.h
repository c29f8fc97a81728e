// Which rule wins for a key, from the rules alone: no DPDK, no table. What tables are held against.
#pragma once

#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "parts/tables/library/keys.h"

namespace wt {

// A hash of masked keys for each mask or length. Its rules may not change under it.
class best_rule {
  public:
    explicit best_rule(const wt_rules &rules);

    // The rule's number, WT_NO_RULE for none.
    uint64_t of(const uint8_t *key) const;

  private:
    struct group {
        std::string mask;
        std::unordered_map<std::string, uint64_t> rules;  // masked key -> rule's number
    };
    bool better(uint64_t rule, uint64_t than) const;

    const wt_rules &rules_;
    std::vector<group> groups_;
};

// The mask of a rule of any kind: all bits of an exact one, those of a prefix.
std::string mask_of(const wt_rules &rules, uint64_t i);

}  // namespace wt
