#include "plan/check.h"

#include <rte_config.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>

#include "control/hello.h"
#include "core/frame_ipv6.h"
#include "core/message.h"
#include "core/refusal.h"
#include "core/vlan.h"
#include "parts/all_parts.h"

namespace wt {

#define WT_DECLARE_CHECK(name) void check_plan_of_##name(const plan &p);
#define WT_CALL_CHECK(name) check_plan_of_##name(p);
WT_ALL_CHECKS_OF_PARTS(WT_DECLARE_CHECK)

namespace {

std::string at(const std::string &list, size_t i) { return list + "[" + std::to_string(i) + "]"; }

void check_index(const std::string &path, uint64_t index, size_t size, const char *of_what) {
    if (index >= size)
        refuse_plan(path,
                    std::to_string(index) + " points beyond the " + std::to_string(size) + " " + of_what);
}

template <typename T>
void need(const std::string &path, const std::optional<T> &value, const char *who) {
    if (!value) refuse_plan(path, std::string("is null, but ") + who + " needs it");
}

void check_applications(const std::string &path, const endpoint_plan &e, const plan &p) {
    for (size_t i = 0; i < e.applications.size(); i++) {
        const application_plan &a = e.applications[i];
        const std::string here = at(path + ".applications", i);
        check_index(here + ".workload", a.workload, p.workloads.size(), "workloads");
        for (size_t d = 0; d < a.dispatchers.size(); d++)
            check_index(at(here + ".dispatchers", d), a.dispatchers[d], e.dispatchers.size(), "dispatchers");
        if (std::set(a.dispatchers.begin(), a.dispatchers.end()).size() != a.dispatchers.size())
            refuse_plan(here + ".dispatchers", "names a dispatcher twice");
        if (e.side != side::client) continue;
        if (a.inflight == 0) refuse_plan(here + ".inflight", "0: a client's application could never send");
        need(at("workloads", a.workload) + ".load", p.workloads[a.workload].load, "its client");
    }
}

// A client's messages go to queues of its server, each once.
void check_peers(const std::string &path, const dispatcher_plan &d, const endpoint_plan &e, const plan &p) {
    if (e.side == side::server) {
        if (!d.peers.empty()) refuse_plan(path, "is given, but a server sends to who asks it");
        return;
    }
    if (d.peers.empty()) refuse_plan(path, "empty: a client's dispatcher needs a queue of the server");
    if (std::set(d.peers.begin(), d.peers.end()).size() != d.peers.size())
        refuse_plan(path, "names a queue twice");
    for (const endpoint_plan &other : p.endpoints)
        for (size_t i = 0; i < d.peers.size() && other.side == side::server; i++)
            check_index(at(path, i), d.peers[i], other.port.queues, "queues of the server");
    if (std::ranges::count(e.port.traits, trait::paired_queues) && d.peers != std::vector<uint16_t>{d.queue})
        refuse_plan(path,
                    "is another queue than " + std::to_string(d.queue) + ", on a wire of paired queues");
}

void check_dispatchers(const std::string &path, const endpoint_plan &e, const plan &p) {
    std::set<uint16_t> queues;
    for (size_t i = 0; i < e.dispatchers.size(); i++) {
        const dispatcher_plan &d = e.dispatchers[i];
        const std::string here = at(path + ".dispatchers", i);
        check_index(here + ".workload", d.workload, p.workloads.size(), "workloads");
        check_index(here + ".queue", d.queue, e.port.queues, "queues of the port");
        // a queue has one poller: the drivers take no lock
        if (!queues.insert(d.queue).second)
            refuse_plan(here + ".queue", std::to_string(d.queue) + " is another dispatcher's already");
        const auto brings_to = [i](const application_plan &a) {
            return std::ranges::count(a.dispatchers, i) > 0;
        };
        check_peers(here + ".peers", d, e, p);
        if (e.side == side::server && p.workloads[d.workload].handler &&
            !std::ranges::any_of(e.applications, brings_to))
            refuse_plan(here, "no application takes the requests that come to it");
    }
}

void check_udp_ports(const std::string &path, uint16_t first, uint16_t queues) {
    if (first + queues - 1 > UINT16_MAX)
        refuse_plan(path, "leaves no port for each of the " + std::to_string(queues) + " queues");
}

// As many as the endpoint's dispatchers know of.
uint16_t queues_of_peer(const endpoint_plan &e) {
    uint16_t queues = e.port.queues;
    for (const dispatcher_plan &d : e.dispatchers)
        for (const uint16_t queue : d.peers) queues = std::max<uint16_t>(queues, queue + 1);
    return queues;
}

// Every frame lies in one mbuf, and every segment has a number.
void check_room(const std::string &path, const endpoint_plan &e, const plan &p) {
    const uint32_t frame = frame_header_bytes - ip_udp_header_bytes + e.mtu + (e.vlan ? vlan_tag_bytes : 0),
                   needed = RTE_PKTMBUF_HEADROOM + frame;
    if (e.pool.data_room_bytes < needed)
        refuse_plan(path + ".pool.data_room_bytes", std::to_string(e.pool.data_room_bytes) +
                                                        " is below the " + std::to_string(needed) +
                                                        " of a frame at this mtu and its headroom");
    for (size_t i = 0; i < p.workloads.size(); i++)
        for (const uint32_t bytes : {p.workloads[i].request_bytes, p.workloads[i].response_bytes})
            if (const uint32_t segments = segmentation_of(bytes, e.mtu - ip_udp_bytes(e.ip)).segments;
                segments > max_segments)
                refuse_plan(at("workloads", i), std::to_string(bytes) + " bytes are " +
                                                    std::to_string(segments) + " segments at the mtu of " +
                                                    path + ", a header counts " +
                                                    std::to_string(max_segments));
}

// IPv6 carries UDP with checksums, in frames.
void check_ipv6(const std::string &path, const endpoint_plan &e) {
    if (!e.port.udp_checksum) refuse_plan(path + ".port.udp_checksum", "is false, and IPv6 needs it");
    if (std::ranges::count(e.port.traits, trait::unframed))
        refuse_plan(path + ".ip", "is an IPv6 address, on a wire without frames");
    if (e.peer_ip && !e.peer_ip->is_v6) refuse_plan(path + ".peer_ip", "is no IPv6 address, but ip is one");
}

void check_endpoint(const std::string &path, const endpoint_plan &e, const plan &p) {
    check_udp_ports(path + ".udp_port", e.udp_port, e.port.queues);
    if (e.peer_udp_port) check_udp_ports(path + ".peer_udp_port", *e.peer_udp_port, queues_of_peer(e));
    check_room(path, e, p);
    const bool unframed = std::ranges::count(e.port.traits, trait::unframed);
    if (e.side == side::client || unframed) {
        const char *const who = unframed ? "an end of a wire without frames" : "a client";
        need(path + ".peer_ip", e.peer_ip, who);
        need(path + ".peer_udp_port", e.peer_udp_port, who);
    }
    check_applications(path, e, p);
    check_dispatchers(path, e, p);
    if (e.ip.is_v6) check_ipv6(path, e);
}

void check_sides(const plan &p) {
    const bool two = p.endpoints.size() == 2;
    if (two && p.endpoints[0].side == p.endpoints[1].side)
        refuse_plan("endpoints[1].side",
                    std::string("a second ") + side_names[static_cast<int>(p.endpoints[1].side)]);
    if (two && p.endpoints[0].ip.is_v6 != p.endpoints[1].ip.is_v6)
        refuse_plan("endpoints[1].ip", "is of another family than that of the other endpoint");
    if (two && p.endpoints[0].mtu != p.endpoints[1].mtu)
        refuse_plan("endpoints[1].mtu", "both ends of a wire need the same");
}

// Messages that a phase offers; infinity where it lasts for ever.
double messages_of(const load_phase_plan &p) {
    if (!p.length_ns) return std::numeric_limits<double>::infinity();
    const double share =
        p.off_ns ? static_cast<double>(*p.on_ns) / static_cast<double>(*p.on_ns + *p.off_ns) : 1;
    return p.rate_per_s * static_cast<double>(*p.length_ns) * share * 1e-9;
}

// A hello goes out to another process.
void check_hello(const plan &p) {
    if (!p.hello_wait_ns) return;
    if (p.endpoints.size() != 1) refuse_plan("hello_wait_ns", "is given, but both sides are in this plan");
    if (p.endpoints[0].mtu < ip_udp_bytes(p.endpoints[0].ip) + hello_bytes)
        refuse_plan("endpoints[0].mtu", "a hello does not fit into " + std::to_string(p.endpoints[0].mtu));
}

void check_load(const std::string &path, const load_plan &load) {
    if (load.mode != load_mode::open) return;
    if (load.phases.empty()) refuse_plan(path + ".phases", "empty, but an open loop needs one");
    check_index(path + ".lead", load.lead, load.phases.size(), "phases, and one must be left to run again");
    double again = 0;
    for (size_t i = 0; i < load.phases.size(); i++) {
        const load_phase_plan &p = load.phases[i];
        const std::string here = at(path + ".phases", i);
        if (!p.length_ns && (i + 1 < load.phases.size() || p.rate_per_s == 0))
            refuse_plan(here + ".length_ns",
                        "is null, but only the last phase may last for ever, and it needs a rate");
        if (p.on_ns.has_value() != p.off_ns.has_value())
            refuse_plan(here + ".on_ns", "on_ns and off_ns belong together");
        if (i >= load.lead) again += messages_of(p);
    }
    // Whoever looks for the next message goes round and round.
    if (again < 1) refuse_plan(path + ".phases", "those that run again hold less than one message");
}

void check_sizes(const std::string &path, const std::optional<sizes_plan> &sizes, uint32_t largest) {
    if (!sizes) return;
    const auto &[kind, bytes, weights] = *sizes;
    if (*std::max_element(bytes.begin(), bytes.end()) > largest)
        refuse_plan(path + ".bytes", "one is above the largest, " + std::to_string(largest));
    if (kind == size_kind::uniform && (bytes.size() != 2 || bytes[0] > bytes[1]))
        refuse_plan(path + ".bytes", "not the least and the most");
    if (kind != size_kind::weighted) return;
    if (weights.size() != bytes.size()) refuse_plan(path + ".weights", "there must be one for each size");
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (sum <= 0) refuse_plan(path + ".weights", "all are 0");
    if (std::isinf(sum)) refuse_plan(path + ".weights", "their sum is beyond a number");
}

void check_workload(const std::string &path, const workload_plan &w) {
    check_sizes(path + ".request_sizes", w.request_sizes, w.request_bytes);
    check_sizes(path + ".response_sizes", w.response_sizes, w.response_bytes);
    if (w.load) check_load(path + ".load", *w.load);
}

void check_workers(const plan &p) {
    std::set<unsigned> lcores;
    std::set<std::tuple<uint32_t, stage_kind, uint32_t>> stages;
    for (size_t w = 0; w < p.workers.size(); w++) {
        const worker_plan &worker = p.workers[w];
        const std::string here = at("workers", w);
        if (!lcores.insert(worker.lcore).second)
            refuse_plan(here + ".lcore", std::to_string(worker.lcore) + " is another worker's already");
        for (size_t s = 0; s < worker.stages.size(); s++) {
            const stage_of &stage = worker.stages[s];
            const std::string there = at(here + ".stages", s);
            check_index(there + ".endpoint", stage.endpoint, p.endpoints.size(), "endpoints");
            const endpoint_plan &e = p.endpoints[stage.endpoint];
            const bool application = stage.stage == stage_kind::app_tx || stage.stage == stage_kind::app_rx;
            check_index(there + ".index", stage.index,
                        application ? e.applications.size() : e.dispatchers.size(),
                        application ? "applications" : "dispatchers");
            // rings have one producer and one consumer
            if (!stages.emplace(stage.endpoint, stage.stage, stage.index).second)
                refuse_plan(there, "this stage has run before, here or on another worker");
        }
    }
}

// Workers that wait for each other in a round must not wait for a third one.
void check_probe_pairs(const plan &p) {
    uint32_t round = 0;
    std::set<uint32_t> busy;
    for (size_t i = 0; i < p.probe_pairs.size(); i++) {
        const probed_pair_plan &pair = p.probe_pairs[i];
        const std::string here = at("probe_pairs", i);
        check_index(here + ".a", pair.a, p.workers.size(), "workers");
        check_index(here + ".b", pair.b, p.workers.size(), "workers");
        if (pair.round < round || pair.round > round + (i > 0))
            refuse_plan(here + ".round", "rounds ascend from 0, one by one");
        if (pair.round > round) busy.clear();
        round = pair.round;
        if (!busy.insert(pair.a).second || !busy.insert(pair.b).second)
            refuse_plan(here, "a worker is twice in a round");
    }
}

bool runs(const plan &p, enum side side, stage_kind stage) {
    for (const worker_plan &worker : p.workers)
        for (const stage_of &s : worker.stages)
            if (p.endpoints[s.endpoint].side == side && s.stage == stage) return true;
    return false;
}

void check_change(const std::string &path, const plan &p, enum side side, stage_kind stage) {
    if (!runs(p, side, stage))
        refuse_plan(
            path, std::string("no worker of this plan runs ") + name_of(stage) + " of the " + name_of(side));
}

void check_variant(const std::string &path, const variant_plan &v, const plan &p) {
    for (size_t i = 0; i < v.delays.size(); i++)
        check_change(at(path + ".delays", i), p, v.delays[i].endpoint, v.delays[i].stage);
    for (const auto &[side, stages] : v.batch)
        for (const auto &[stage, size] : stages)
            check_change(path + ".batch." + name_of(side) + "." + name_of(stage), p, side, stage);
    const auto is_client = [](const endpoint_plan &e) { return e.side == side::client; };
    if (v.inflight && std::ranges::none_of(p.endpoints, is_client))
        refuse_plan(path + ".inflight", "is given, but this plan has no client");
}

// Windows of two variants can be compared only if nothing else changes from one to the other.
void check_variants(const plan &p) {
    const auto &[settle_ns, variants, order] = *p.variants;
    for (size_t i = 0; i < order.size(); i++)
        check_index(at("variants.order", i), order[i], variants.size(), "variants");
    if (const variant_plan &v = variants[0]; !v.delays.empty() || !v.batch.empty() || v.inflight)
        refuse_plan("variants.variants[0]", "changes something, but the first variant is the plan as it is");
    std::set<std::string> names;
    for (size_t i = 0; i < variants.size(); i++) {
        const std::string here = at("variants.variants", i);
        if (!names.insert(variants[i].name).second)
            refuse_plan(here + ".name", "\"" + variants[i].name + "\" is another variant's already");
        check_variant(here, variants[i], p);
    }
    for (const endpoint_plan &e : p.endpoints)
        if (p.hello_wait_ns || std::ranges::count(e.port.traits, trait::process_each))
            refuse_plan("variants", "the peer is another process, which does not change with this one");
    for (size_t i = 0; i < p.workloads.size(); i++)
        if (const auto &load = p.workloads[i].load; load && load->phases.size() > load->lead + 1)
            refuse_plan("variants", at("workloads", i) + ".load has phases: it changes between windows, too");
}

}  // namespace

[[noreturn]] void refuse_plan(const std::string &path, const std::string &why) {
    throw refusal("plan: " + path + ": " + why);
}

void check_plan(const plan &p) {
    check_sides(p);
    check_hello(p);
    for (size_t i = 0; i < p.endpoints.size(); i++) check_endpoint(at("endpoints", i), p.endpoints[i], p);
    for (size_t i = 0; i < p.workloads.size(); i++) check_workload(at("workloads", i), p.workloads[i]);
    check_workers(p);
    check_probe_pairs(p);
    if (p.variants) check_variants(p);
    WT_ALL_CHECKS_OF_PARTS(WT_CALL_CHECK)
}

}  // namespace wt
