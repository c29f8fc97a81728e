// Reads hostile texts of rules; what is read must be well formed, without two alike, and hit by the keys that
// are drawn for it. The first byte chooses the kind and the width of the keys.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "parts/tables/library/best_rule.h"
#include "tests/fuzz/require.h"

namespace {

using wt::require;

void check_rules(const wt_rules &rules) {
    char error[256];
    uint64_t pair[2];
    require(!wt_rules_clash(&rules, pair), "no two rules are alike");
    for (uint64_t i = 0; i < rules.count; ++i) {
        const wt_rule rule = wt_rules_at(&rules, i);
        require(wt_rule_check(rules.kind, rules.key_bytes, &rule, error, sizeof error) == 0, "a rule is one");
    }
}

void check_keys(const wt_rules &rules) {
    char error[256];
    wt_keys keys;
    if (wt_keys_of_rules(&keys, &rules, 1, WT_UNIFORM, 1, 3, error, sizeof error) == 0) {
        const wt::best_rule best(rules);
        uint64_t random = 5;
        uint8_t key[WT_KEY_MOST];
        for (int i = 0; i < 8; ++i) {
            const uint64_t rule = wt_keys_draw(&keys, &random, key);
            require(rule < rules.count && rule == best.of(key), "a key hits the rule that it says");
        }
    } else {
        require(rules.count == 0, "keys are found for every list of rules");
    }
    wt_keys_close(&keys);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    static const int file = memfd_create("rules", 0);
    static const std::string path = "/proc/self/fd/" + std::to_string(file);
    const uint32_t kind = 1 + data[0] % 3;
    const uint32_t key_bytes = kind == WT_LPM ? 4 : data[0] & 1 ? 16 : 4;
    require(ftruncate(file, 0) == 0 && pwrite(file, data + 1, size - 1, 0) == static_cast<ssize_t>(size - 1),
            "the text is written");
    wt_rules rules{};
    char error[256];
    if (wt_rules_read(path.c_str(), kind, key_bytes, &rules, error, sizeof error) == 0) {
        check_rules(rules);
        check_keys(rules);
    }
    wt_rules_close(&rules);
    return 0;
}
