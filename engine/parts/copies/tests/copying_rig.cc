#include "copying_rig.h"

#include "parts/copies/copiers/registry.h"

namespace wt::test {

json copies_of(const json &changes) {
    json copies = R"({"engine": "cpu", "options": {}, "depth": 64, "batch": 32, "way": "pipelined",
                      "at_least_bytes": 0, "verify": true, "timeout_ns": 1000000000, "lcores": [],
                      "model": null})"_json;
    copies.update(changes);
    return copies;
}

json copying_plan(const json &copies, const json &workload) {
    json p = rig_plan();
    p["workloads"][0].update({{"request_bytes", 1000},
                              {"client_slots", 32},
                              {"source", {{"bytes", 1 << 16}, {"order", "rotating"}}},
                              {"copies", copies_of(copies)}});
    p["workloads"][0].update(workload);
    return p;
}

json naming_plan(const json &copies, const json &workload) {
    json p = copying_plan(copies);
    p["workloads"][0].update({{"request_bytes", 86},
                              {"response_bytes", 1016},  // a body of 1000, with a head of 16
                              {"source", nullptr},
                              {"handler", {{"name", "fs_read"}, {"options", {{"file", "65536"}}}}}});
    p["workloads"][0].update(workload);
    return p;
}

std::vector<std::string> loops_of_the_cpu() {
    std::vector<std::string> names;
    for (const copier *c : all_copiers())
        if (!c->thread_option && !c->inner_option && !c->profile_option) names.emplace_back(c->name);
    return names;
}

}  // namespace wt::test
