// A pipeline that is accepted: tests change it one key at a time.
#pragma once

#include <nlohmann/json.hpp>

namespace wt::test {

// Two tables: one of generated rules that change, one of rules in a file whose packets are metered.
inline nlohmann::ordered_json valid_pipeline() {
    nlohmann::ordered_json pipeline = R"({
        "traffic": "requests", "body_offset": 16, "body_bytes": 40,
        "inner": true, "ipv6": false, "change_cpu": 3,
        "tables": [{
            "name": "flows", "where": "ingress", "kind": "lpm", "method": "fib",
            "key": {"fields": [{"place": "body", "offset": 0, "bytes": 4}], "bytes": 4, "segments": 0},
            "rules": 1000, "file": null, "prefixes": "24", "masks": 16,
            "load": 0.5, "lookup": "bulk", "access": "rcu", "entry": "pointed", "per_core": false,
            "action": "rewrite", "meter": null, "miss_drops": true,
            "changes_per_s": 100, "seed": 18446744073709551615, "steered": true,
            "hit": 0.5, "popularity": "zipf", "exponent": 0.99, "expected": 4
        }]
    })"_json;
    nlohmann::ordered_json metered = pipeline["tables"][0];
    metered.update(R"({
        "name": "metered", "where": "egress", "rules": 0, "file": "/tmp/rules.csv",
        "action": "meter", "meter": {"committed_bytes_per_s": 10, "peak_bytes_per_s": 20, "burst_bytes": 300},
        "changes_per_s": 0, "expected": 8
    })"_json);
    pipeline["tables"].push_back(metered);
    return pipeline;
}

}  // namespace wt::test
