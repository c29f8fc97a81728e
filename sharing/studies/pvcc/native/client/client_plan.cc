#include "client/client_plan.h"

#include <algorithm>
#include <iterator>

#include "core/refusal.h"
#include "plan/json_reader.h"

namespace wt::client {

namespace {

constexpr uint64_t hour_ns = 3600ull * 1'000'000'000;
constexpr size_t most_windows = 20'000, most_waiting = 1 << 20, most_phases = 1000;

load_phase read_phase(const json_value &v) {
    return read_object(v, [](json_object &o) {
        load_phase p;
        p.name = o["name"].text();
        p.duration_ns = o["duration_ns"].whole<uint64_t>(1'000'000, hour_ns);
        p.per_s = o["per_s"].real(0, 1e8);
        p.poisson = o["poisson"].truth();
        return p;
    });
}

target_plan read_target(const json_value &v) {
    return read_object(v, [&](json_object &o) {
        target_plan t;
        t.name = o["name"].text();
        t.address = o["address"].text();
        t.dialect = static_cast<protocol>(o["protocol"].word(protocol_names));
        t.port = o["port"].whole<uint16_t>(1);
        t.connections = o["connections"].whole<uint32_t>(1, 4096);
        t.inflight = o["inflight"].whole<uint32_t>(1, 65536);
        t.keys = o["keys"].whole<uint64_t>(1, 100'000'000);
        t.value = o["value"].whole<uint32_t>(1, 1 << 20);
        t.get_percent = o["get_percent"].whole<uint32_t>(0, 100);
        t.load_keys = o["load_keys"].truth();
        t.seed = o["seed"].whole<uint64_t>();
        t.phases = o["phases"].list(read_phase, 1, most_phases);
        if (t.dialect == protocol::http && (t.get_percent != 100 || t.load_keys))
            v.refuse("a web server is only asked: get_percent must be 100 and load_keys false");
        if (uint64_t{t.connections} * t.inflight > most_waiting)
            v.refuse("connections x inflight is above 2^20");
        return t;
    });
}

}  // namespace

uint64_t client_plan::duration_ns() const {
    uint64_t longest = 0;
    for (const target_plan &t : targets) {
        uint64_t sum = 0;
        for (const load_phase &p : t.phases) sum += p.duration_ns;
        longest = std::max(longest, sum);
    }
    return longest;
}

client_plan read_client_plan(std::string_view text) {
    const nlohmann::ordered_json document = parse_json(text);
    const json_value value(document, "");
    client_plan plan = read_object(value, [&](json_object &o) {
        client_plan p;
        p.cpu = static_cast<int>(o["cpu"].whole<uint32_t>(0, 8191));
        const auto theirs = o["tenant_cpus"].list([](const json_value &v) { return v.whole<int>(0, 8191); });
        if (std::find(theirs.begin(), theirs.end(), p.cpu) != theirs.end())
            throw refusal("the client may not run on CPU " + std::to_string(p.cpu) +
                          ", which its tenants use: it would measure itself");
        p.window_ns = o["window_ns"].whole<uint64_t>(1'000'000, hour_ns);
        p.patience_ns = o["patience_ns"].whole<uint64_t>(0, hour_ns);
        p.targets = o["targets"].list(read_target, 1, 256);
        return p;
    });
    if (plan.windows() > most_windows) value.refuse("more than 20000 windows: longer ones would do");
    return plan;
}

}  // namespace wt::client
