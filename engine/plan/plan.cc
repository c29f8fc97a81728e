// Reads a plan, key by key as src/windtunnel/engine/plan.py has them. What one key means for another is in
// check.cc.
#include "plan/plan.h"

#include "core/refusal.h"
#include "plan/check.h"
#include "plan/parts.h"

namespace wt {

namespace {

constexpr uint64_t plan_version = 2;
constexpr size_t most_workloads = 256;  // a message header has a byte for it
constexpr uint64_t most_raw_latencies = 1u << 28;  // 2 GiB of them

constexpr const char *accounting_words[] = {"off", "counts", "sampled", "cycles", "histograms"};
constexpr const char *memory_words[] = {"hugepages", "no-huge"};

eal_plan read_eal(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return eal_plan{.args = o["args"].list(text),
                        .memory = word<memory_mode>(o["memory"], memory_words),
                        .file_prefix = o["file_prefix"].text()};
    });
}

accounting_plan read_accounting(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return accounting_plan{.level = word<accounting>(o["level"], accounting_words),
                               .sample_every = o["sample_every"].whole<uint32_t>(1),
                               .interrupted_above_ns = length(o["interrupted_above_ns"])};
    });
}

phases_plan read_phases(const json_value &v) {
    return read_object(v, [](json_object &o) {
        const auto some = [](const json_value &count) { return count.whole<uint64_t>(0, INT64_MAX); };
        return phases_plan{.warmup_ns = duration(o["warmup_ns"]),
                           .duration_ns = length(o["duration_ns"]),
                           .window_ns = length(o["window_ns"]),
                           .messages = o["messages"].optional(some),
                           .drain_ns = duration(o["drain_ns"])};
    });
}

stage_of read_stage(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return stage_of{.endpoint = o["endpoint"].whole<uint32_t>(),
                        .stage = word<stage_kind>(o["stage"], stage_names),
                        .index = o["index"].whole<uint32_t>()};
    });
}

worker_plan read_worker(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return worker_plan{.lcore = o["lcore"].whole<unsigned>(1),
                           .cpu = o["cpu"].whole<int>(),
                           .stages = o["stages"].list(read_stage, 1)};
    });
}

trace_plan read_trace(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return trace_plan{.path = o["path"].text(),
                          .every = o["every"].whole<uint32_t>(1),
                          .limit_events = o["limit_events"].whole<uint64_t>(1)};
    });
}

raw_latency_plan read_raw_latency(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return raw_latency_plan{.path = o["path"].text(), .limit = o["limit"].whole<uint64_t>(1, most_raw_latencies)};
    });
}

}  // namespace

plan read_plan(std::string_view json) {
    const nlohmann::json document = parse_json(json);
    plan p = read_object(json_value(document, ""), [](json_object &o) {
        // first, so that a plan of another version is refused for that and not for a key
        if (const auto version = o["version"].whole<uint64_t>(); version != plan_version)
            throw refusal("the plan has version " + std::to_string(version) + ", this engine reads version " +
                              std::to_string(plan_version),
                          "use windtunnel and windtunnel-engine of one release");
        return plan{.hash = o["hash"].text(),
                    .title = o["title"].text(),
                    .seed = o["seed"].whole<uint64_t>(),
                    .eal = read_eal(o["eal"]),
                    .accounting = read_accounting(o["accounting"]),
                    .phases = read_phases(o["phases"]),
                    .hello_wait_ns = o["hello_wait_ns"].optional(length),
                    .endpoints = o["endpoints"].list(read_endpoint, 1, 2),
                    .workloads = o["workloads"].list(read_workload, 1, most_workloads),
                    .workers = o["workers"].list(read_worker, 1),
                    .record = o["record"].optional(text),
                    .trace = o["trace"].optional(read_trace),
                    .raw_latency = o["raw_latency"].optional(read_raw_latency)};
    });
    check_plan(p);
    return p;
}

}  // namespace wt
