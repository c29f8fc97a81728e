// Fuzzes the plan's reader: any document is either refused in words or a plan whose every index points
// somewhere.
//
// Half of the inputs come from libFuzzer's own mutations of bytes, half from changes to the document's
// structure: keys removed, renamed, doubled, values replaced by others from anywhere in the document or by
// awkward ones.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>

#include "core/refusal.h"
#include "plan/plan.h"
#include "tests/valid_plan.h"

using json = nlohmann::ordered_json;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

namespace {

void must(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "accepted, but not so: %s\n", what);
    std::abort();
}

void check_endpoint(const wt::endpoint_plan &e, const wt::plan &p) {
    for (const wt::application_plan &a : e.applications) {
        must(a.workload < p.workloads.size(), "application's workload");
        must(!a.dispatchers.empty(), "application's dispatchers");
        for (const uint32_t d : a.dispatchers) must(d < e.dispatchers.size(), "application's dispatcher");
    }
    std::set<uint16_t> queues;
    for (const wt::dispatcher_plan &d : e.dispatchers) {
        must(d.workload < p.workloads.size(), "dispatcher's workload");
        must(d.queue < e.port.queues && queues.insert(d.queue).second, "dispatcher's queue");
        must(d.peers.empty() == (e.side == wt::side::server), "dispatcher's peers");
    }
    for (const uint32_t batch :
         {e.batch.app_tx, e.batch.disp_tx, e.batch.nic_tx, e.batch.nic_rx, e.batch.disp_rx, e.batch.app_rx})
        must(batch >= 1 && batch <= wt::max_batch, "batch");
    must(e.ring_size >= 2 && (e.ring_size & (e.ring_size - 1)) == 0, "ring size");
    must(e.mtu >= 68 && e.mtu <= 9000, "MTU");
    must(e.udp_port + e.port.queues <= 65536, "UDP ports");
    if (e.port.faults) {
        const wt::fault_plan &f = *e.port.faults;
        must(f.loss >= 0 && f.loss <= 1 && f.duplicate >= 0 && f.duplicate <= 1, "probabilities");
        must(f.reorder_depth >= 1 && f.reorder_depth <= 64, "reorder depth");
    }
}

void check_plan(const wt::plan &p) {
    must(p.endpoints.size() == 1 || p.endpoints.size() == 2, "endpoints");
    must(!p.workloads.empty() && !p.workers.empty(), "lists that may not be empty");
    for (const wt::endpoint_plan &e : p.endpoints) check_endpoint(e, p);
    for (const wt::worker_plan &w : p.workers)
        for (const wt::stage_of &s : w.stages) {
            must(s.endpoint < p.endpoints.size(), "stage's endpoint");
            const wt::endpoint_plan &e = p.endpoints[s.endpoint];
            const bool app = s.stage == wt::stage_kind::app_tx || s.stage == wt::stage_kind::app_rx;
            must(s.index < (app ? e.applications.size() : e.dispatchers.size()), "stage's index");
        }
}

using pointer = json::json_pointer;

void places(const json &value, const pointer &at, std::vector<pointer> &all) {
    all.push_back(at);
    if (value.is_object())
        for (const auto &[key, child] : value.items()) places(child, at / key, all);
    if (value.is_array())
        for (size_t i = 0; i < value.size(); i++) places(value[i], at / i, all);
}

json awkward(std::mt19937 &random) {
    const json values[] = {nullptr,
                           true,
                           false,
                           0,
                           1,
                           -1,
                           2,
                           63,
                           64,
                           65,
                           1023,
                           1024,
                           1025,
                           65535,
                           65536,
                           4294967295u,
                           18446744073709551615u,
                           -9223372036854775807,
                           0.5,
                           1e308,
                           -0.0,
                           "",
                           "ring",
                           "client",
                           "::",
                           std::string(5, '\0'),
                           std::string(300, 'x'),
                           json::array(),
                           json::object(),
                           json::array({0, 0})};
    return values[random() % std::size(values)];
}

void change(json &plan, std::mt19937 &random) {
    std::vector<pointer> all;
    places(plan, pointer(), all);
    const auto anywhere = [&]() -> const pointer & { return all[random() % all.size()]; };
    const pointer at = anywhere();
    if (at.empty()) return;
    json &parent = plan[at.parent_pointer()];
    const json here = plan[at];
    switch (random() % 6) {
        case 0: plan[at] = awkward(random); break;
        case 1: plan[at] = json(plan[anywhere()]); break;
        case 2:
            if (parent.is_object()) {
                parent.erase(at.back());
            } else {
                parent.erase(std::stoul(at.back()));
            }
            break;
        case 3:
            if (parent.is_object()) parent[at.back() + "x"] = here;
            break;
        case 4:
            if (parent.is_array()) parent.push_back(here);
            break;
        case 5:
            if (here.is_number_integer())  // around the ends, too
                plan[at] = static_cast<int64_t>(here.get<uint64_t>() + (random() % 2 ? 1 : UINT64_MAX));
            break;
    }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    std::mt19937 random(seed);
    if (random() % 2) return LLVMFuzzerMutate(data, size, max_size);
    json plan = json::parse(data, data + size, nullptr, false);
    if (!plan.is_object() || random() % 16 == 0) plan = wt::test::valid_plan();
    for (unsigned left = 1 + random() % 4; left > 0; left--) change(plan, random);
    const std::string text = plan.dump(-1, ' ', false, json::error_handler_t::replace);
    if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
    std::copy(text.begin(), text.end(), data);
    return text.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try {
        check_plan(wt::read_plan({reinterpret_cast<const char *>(data), size}));
    } catch (const wt::refusal &r) {
        json(r.what()).dump();  // throws where the words are not UTF-8, and they go into a JSON line
    }
    return 0;
}
