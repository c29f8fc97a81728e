// From the plan's lists to endpoints: opens handlers for their workers, links applications and dispatchers
// to each other.
#include "run/endpoints.h"

#include "core/refusal.h"
#include "handlers/loading/registry.h"
#include "parts/registry.h"
#include "run/seed.h"

namespace wt {

namespace {

int node_of(const plan &p, const stage_of &s, const node_topology &t) {
    const int worker = worker_of(p, s.endpoint, s.stage, s.index);
    return worker < 0 ? -1 : t.of_cpu(p.workers[static_cast<size_t>(worker)].cpu);
}

// What the messages look like that a dispatcher brings to its only application: requests of any client, or
// responses to this one.
message_match what_comes_to(const application &a, const dispatcher &d) {
    if (d.side == side::client) return message_match_of(message_kind::response, d.workload, a.index);
    if (!d.workload_has_messages) return no_message_matches;
    return message_match_of(message_kind::request, d.workload, {});
}

// A ring of a link, on the node of who takes from it. Where the kernel does not put it there, a note says so.
std::unique_ptr<packet_ring> open_ring(run_state &f, const std::string &name, uint32_t size,
                                       const stage_of &taker) {
    auto ring = std::make_unique<packet_ring>(name, size, ring_node(f.plan, taker, f.nodes));
    if (!ring->is_there)
        f.notes.push_back("rings are not on NUMA node " + std::to_string(ring->node) +
                          ": the kernel does not move memory there for this process");
    return ring;
}

// Two rings for every pair of an application and a dispatcher that work together.
void link_up(run_state &f, endpoint &e, uint32_t endpoint_index) {
    const std::string name = side_names[static_cast<int>(e.plan->side)];
    for (auto &a : e.applications) {
        for (uint32_t index : e.plan->applications[a->index].dispatchers) {
            dispatcher &d = *e.dispatchers[index];
            const std::string pair =
                name + ".app" + std::to_string(a->index) + ".disp" + std::to_string(index);
            link &l = *f.links.emplace_back(std::make_unique<link>());
            l.to_dispatcher =
                open_ring(f, pair + ".tx", e.plan->ring_size, {endpoint_index, stage_kind::disp_tx, index});
            l.to_application =
                open_ring(f, pair + ".rx", e.plan->ring_size, {endpoint_index, stage_kind::app_rx, a->index});
            a->links.push_back(&l);
            d.link_of.resize(e.applications.size(), no_link);
            d.link_of[a->index] = static_cast<uint16_t>(d.links.size());
            d.links.push_back(&l);
            d.applications.push_back(a.get());
            d.sorted.emplace_back(d.batch_rx);
            d.only_link = d.links.size() == 1 ? what_comes_to(*a, d) : no_message_matches;
            if (d.links.size() > max_links)
                throw refusal(name + " dispatcher " + std::to_string(index) + " serves more than " +
                                  std::to_string(max_links) + " applications",
                              "use more dispatchers");
        }
    }
}

}  // namespace

std::optional<handler_use> handler_of_application(const plan &p, uint32_t endpoint, uint32_t index) {
    const endpoint_plan &e = p.endpoints[endpoint];
    const uint32_t workload = e.applications[index].workload;
    const workload_plan &w = p.workloads[workload];
    const bool is_client = e.side == side::client;
    const stage_of stage = {endpoint, is_client ? stage_kind::app_tx : stage_kind::app_rx, index};
    if (w.handler) return handler_use{&*w.handler, WT_MESSAGE_HANDLER, stage, workload};
    // it may write into the requests
    if (w.packet_handler && is_client)
        return handler_use{&*w.packet_handler, WT_PACKET_HANDLER, stage, workload};
    return std::nullopt;
}

std::optional<handler_use> handler_of_dispatcher(const plan &p, uint32_t endpoint, uint32_t index) {
    const endpoint_plan &e = p.endpoints[endpoint];
    const uint32_t workload = e.dispatchers[index].workload;
    const workload_plan &w = p.workloads[workload];
    if (e.side == side::client || !w.packet_handler) return std::nullopt;
    return handler_use{
        &*w.packet_handler, WT_PACKET_HANDLER, {endpoint, stage_kind::disp_rx, index}, workload};
}

wt_open about_handler(const run_state &f, const handler_use &use) {
    const workload_plan &w = f.plan.workloads[use.workload];
    wt_open open{};
    open.role = f.plan.endpoints[use.stage.endpoint].side == side::client ? WT_CLIENT : WT_SERVER;
    open.index = use.stage.index;
    open.workload = use.workload;
    open.request_length = w.request_bytes - message_header_bytes;
    open.response_length = w.response_bytes - message_header_bytes;
    open.scan = w.scan;
    open.numa_socket = node_of(f.plan, use.stage, f.nodes);
    open.seed = seed_of(f.plan.seed, chance::handlers, use.stage.index);
    call_parts(&part::tell_handler, w, open);
    return open;
}

const wt_handler *open_handler(run_state &f, const handler_use &use, void **state, handler_steps **steps) {
    const side of = f.plan.endpoints[use.stage.endpoint].side;
    const workload_plan &w = f.plan.workloads[use.workload];
    f.lines.phase("opening " + use.handler->name);
    try {
        handler_table table = handler_named(use.kind, use.handler->name);
        const bool is_called = table->request || ask_parts(&part::calls_handler, w, *table);
        if (of == side::client && !is_called) return nullptr;
        opened_handler &opened =
            f.handlers.emplace_back(std::move(table), about_handler(f, use), use.handler->options, &w);
        *state = opened.state();
        if (of == side::client) return &opened.table();
        if (!opened.steps().names.empty()) *steps = &opened.steps();
        if (!opened.counters().empty()) f.counters.emplace_back(opened, use.stage, of);
        return &opened.table();
    } catch (const refusal &why) {
        throw handler_refusal(why, use.workload, kind_name(use.kind));
    }
}

void open_endpoints(run_state &f) {
    f.handshake = open_handshake(f.plan);
    for (uint32_t i = 0; i < f.plan.endpoints.size(); i++) {
        endpoint &e = f.endpoints.emplace_back();
        e.plan = &f.plan.endpoints[i];
        e.pool = f.pools[i];
        e.port = &f.ports[i];
        open_applications(f, e, i);
        open_dispatchers(f, e, i);
        link_up(f, e, i);
        call_parts(&part::link_endpoint, f, e, i);
    }
}

}  // namespace wt
