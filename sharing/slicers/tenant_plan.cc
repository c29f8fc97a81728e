#include "slicers/tenant_plan.h"

#include "plan/json_reader.h"

namespace wt {

constexpr uint64_t longest_ns = uint64_t{3600} * 24 * 1'000'000'000;
constexpr double highest_rate = 1e8;
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double no_rate_interval_ns = 1e18;  // infinity would make the cursor reckon with inf/inf

static arrival_phase read_phase(const json_value &value) {
    return read_object(value, [](json_object &o) {
        constexpr const char *kinds[] = {"constant", "poisson"};
        arrival_phase p{};
        const auto length =
            o["for_ns"].optional([](const json_value &v) { return v.whole<uint64_t>(1, longest_ns); });
        p.length = length ? static_cast<double>(*length) : infinite;
        const double rate = o["rate"].real(0, highest_rate);
        p.interval = rate > 0 ? 1e9 / rate : no_rate_interval_ns;
        p.poisson = o["arrivals"].word(kinds) == 1;
        p.on = p.length;
        return p;
    });
}

// After the last phase its rate continues: a tenant does not stop because its plan was short.
arrival_phases read_phases(const json_value &value) {
    arrival_phases phases;
    phases.list = value.list(read_phase, 1, 1000);
    arrival_phase last = phases.list.back();
    last.length = last.on = infinite;
    phases.list.push_back(last);
    phases.lead = static_cast<uint32_t>(phases.list.size() - 1);
    return phases;
}

tenant_plan read_tenant_plan(const std::string &text) {
    const auto document = parse_json(text);
    return read_object(json_value(document, ""), [](json_object &o) {
        tenant_plan p;
        p.phases = read_phases(o["phases"]);
        p.seed = o["seed"].whole<uint64_t>();
        p.service_ns = o["service_ns"].whole<uint64_t>(0, 1'000'000'000);
        p.working_set_bytes = o["working_set_bytes"].whole<uint64_t>(0, uint64_t{1} << 36);
        p.touched_bytes = o["touched_bytes"].whole<uint64_t>(0, uint64_t{1} << 36);
        p.queue = o["queue"].whole<uint32_t>(1, 1u << 20);
        p.when_empty = static_cast<empty_poll>(o["when_empty"].word(empty_poll_names));
        p.gap_ns = o["gap_ns"].whole<uint64_t>(1000, 1'000'000'000);
        p.start_ns = o["start_ns"].whole<uint64_t>();
        p.warmup_ns = o["warmup_ns"].whole<uint64_t>(0, longest_ns);
        p.duration_ns = o["duration_ns"].whole<uint64_t>(1'000'000, longest_ns);
        p.window_ns = o["window_ns"].whole<uint64_t>(1'000'000, longest_ns);
        p.cpu = o["cpu"].optional([](const json_value &v) { return v.whole<int>(0, 8191); }).value_or(-1);
        return p;
    });
}

}  // namespace wt
