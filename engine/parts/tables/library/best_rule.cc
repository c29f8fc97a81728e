#include "parts/tables/library/best_rule.h"

namespace wt {

namespace {

std::string masked(const uint8_t *key, const std::string &mask) {
    std::string result(mask);
    for (size_t i = 0; i < mask.size(); ++i) result[i] = static_cast<char>(result[i] & key[i]);
    return result;
}

}  // namespace

std::string mask_of(const wt_rules &rules, uint64_t i) {
    const wt_rule rule = wt_rules_at(&rules, i);
    std::string mask(rules.key_bytes, '\xff');
    if (rule.mask) std::memcpy(mask.data(), rule.mask, mask.size());
    if (rules.kind == WT_LPM)
        for (uint32_t bit = rule.length; bit < 8 * rules.key_bytes; ++bit)
            mask[bit / 8] = static_cast<char>(mask[bit / 8] & ~(0x80 >> bit % 8));
    return mask;
}

best_rule::best_rule(const wt_rules &rules) : rules_(rules) {
    std::unordered_map<std::string, size_t> places;
    for (uint64_t i = 0; i < rules.count; ++i) {
        const std::string mask = mask_of(rules, i);
        const auto [place, is_new] = places.try_emplace(mask, groups_.size());
        if (is_new) groups_.push_back({mask, {}});
        groups_[place->second].rules.emplace(masked(wt_rules_at(&rules, i).key, mask), i);
    }
}

bool best_rule::better(uint64_t rule, uint64_t than) const {
    if (than == WT_NO_RULE) return true;
    const wt_rule a = wt_rules_at(&rules_, rule), b = wt_rules_at(&rules_, than);
    return a.length != b.length ? a.length > b.length : a.priority > b.priority;
}

uint64_t best_rule::of(const uint8_t *key) const {
    uint64_t best = WT_NO_RULE;
    for (const group &g : groups_) {
        const auto found = g.rules.find(masked(key, g.mask));
        if (found != g.rules.end() && better(found->second, best)) best = found->second;
    }
    return best;
}

}  // namespace wt
