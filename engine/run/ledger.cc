// The end of a run: every mbuf returns to its pool, counted by its owner; every packet and message
// accounted for.
#include <rte_memory.h>
#include <sys/resource.h>

#include <cstdio>
#include <map>

#include "core/allocation_watch.h"
#include "core/inflight.h"
#include "parts/registry.h"
#include "run/run.h"
#include "stages/client_state.h"
#include "stages/server_state.h"
#include "wires/wire.h"

namespace wt {

namespace {

void free_ring(packet_ring &r) {
    rte_mbuf *m;
    while (r.take(&m, 1) == 1) rte_pktmbuf_free(m);
}

void free_links(run_state &f) {
    for (auto &l : f.links) {
        free_ring(*l->to_dispatcher);
        free_ring(*l->to_application);
    }
}

void free_handover(handover &h) {
    for (uint32_t i = h.head; i < h.tail; i++) rte_pktmbuf_free(h.packets[i]);
    h.head = h.tail = 0;
    if (h.ring) free_ring(*h.ring);
}

template <typename Visit>
void for_each_dispatcher(run_state &f, Visit visit) {
    for (endpoint &e : f.endpoints)
        for (auto &d : e.dispatchers) visit(*d);
}

template <typename Visit>
void for_each_application(run_state &f, Visit visit) {
    for (endpoint &e : f.endpoints)
        for (auto &a : e.applications) visit(*a);
}

void free_handovers(run_state &f) {
    for_each_dispatcher(f, [](dispatcher &d) {
        free_handover(*d.nic.received);
        rte_pktmbuf_free_bulk(d.nic.early.packets.data() + d.nic.early.head, d.nic.early.count);
        d.nic.early.count = 0;
        rte_pktmbuf_free(d.waiting);
        d.waiting = nullptr;
        free_handover(*d.nic.sending);
        if (d.nic.replies) free_handover(*d.nic.replies);
    });
}

void free_emulated(run_state &f) {
    for_each_dispatcher(f, [](dispatcher &d) {
        rte_pktmbuf_free_bulk(d.nic.wire_burst.data() + d.nic.wire_head, d.nic.wire_count);
        d.nic.wire_count = 0;
        rte_mbuf *held[64];
        if (d.nic.emulated_faults) rte_pktmbuf_free_bulk(held, faults_release(*d.nic.emulated_faults, held));
        if (d.nic.link_ahead) link_free(*d.nic.link_ahead);
    });
}

void free_outboxes(run_state &f) {
    for_each_application(f, [](application &a) {
        rte_pktmbuf_free_bulk(a.out.packets.data() + a.out.head, a.out.count);
        a.out.count = 0;
    });
}

void free_requests(run_state &f) {
    for_each_application(f, [](application &a) {
        if (!a.responding) return;
        server_responding &s = *a.responding;
        for (; s.ready_head < s.ready.size(); s.ready_head++)
            rte_pktmbuf_free_bulk(s.requests.data() + s.ready[s.ready_head].first,
                                  s.ready[s.ready_head].segments);
        if (!s.parts) return;
        for (assembly &m : s.parts->assemblies) {
            if (!assembly_is_open(m)) continue;
            for (uint32_t i = 0; i < m.segments; i++) rte_pktmbuf_free(static_cast<rte_mbuf *>(m.packets[i]));
        }
    });
}

std::vector<uint64_t> free_counts(const run_state &f) {
    std::vector<uint64_t> counts;
    for (rte_mempool *pool : f.pools) counts.push_back(rte_mempool_avail_count(pool));
    return counts;
}

// Which pool got how many mbufs back when one owner was emptied.
class holders {
  public:
    explicit holders(run_state &f) : f_(f), before_(free_counts(f)), held_(f.pools.size()) {}

    template <typename Empty>
    void empty(const char *owner, Empty give_back) {
        give_back();
        const std::vector<uint64_t> after = free_counts(f_);
        for (size_t i = 0; i < after.size(); i++)
            if (after[i] != before_[i]) held_[i][owner] += after[i] - before_[i];
        before_ = after;
    }

    // Mbufs that their owner cannot give back.
    void keeps(const std::string &owner, size_t pool, uint64_t count) {
        if (count) held_[pool][owner] += count;
    }

    json ledger(const std::vector<uint64_t> &free_at_stop) const {
        json list = json::array();
        for (size_t i = 0; i < held_.size(); i++) {
            uint64_t held = 0;
            for (const auto &[owner, count] : held_[i]) held += count;
            const endpoint_plan &e = *f_.endpoints[i].plan;
            list.push_back(
                {{"endpoint", side_names[static_cast<int>(e.side)]},
                 {"size", e.pool.size},
                 {"free", free_at_stop[i]},
                 {"held", held_[i]},
                 {"missing", int64_t{e.pool.size} - static_cast<int64_t>(free_at_stop[i] + held)}});
        }
        return list;
    }

  private:
    run_state &f_;
    std::vector<uint64_t> before_;
    std::vector<std::map<std::string, uint64_t>> held_;
};

stage_counters totals_of(run_state &f, size_t endpoint, stage_kind kind) {
    stage_counters sum{};
    for_each_stage(f, [&](stage &s, size_t w, size_t i) {
        if (s.place.endpoint == endpoint && s.place.stage == kind) sum += f.totals[w][i];
    });
    return sum;
}

// Packets that one direction's emulation still has.
uint64_t held_by_emulation(const endpoint &e) {
    uint64_t held = 0;
    for (const auto &d : e.dispatchers)
        held += d->nic.wire_count + (d->nic.emulated_faults ? d->nic.emulated_faults->held_count : 0) +
                (d->nic.link_ahead ? link_holds(*d->nic.link_ahead) : 0);
    return held;
}

// One direction of a wire of which both ends are ours. `sent` is before its emulation, which still has
// `held`.
json packet_ledger(run_state &f, size_t source, uint64_t held, uint64_t in_wire) {
    const stage_counters tx = totals_of(f, source, stage_kind::nic_tx);
    const uint64_t received = totals_of(f, 1 - source, stage_kind::nic_rx).packets;
    const port &sender = *f.endpoints[source].port, &receiver = *f.endpoints[1 - source].port;
    const uint64_t missed = receiver.operations->missed(receiver);
    const uint64_t failed = sender.operations->failed ? sender.operations->failed(sender) : 0;
    json dropped = json::object();
    if (tx.wire_lost) dropped["emulated_loss"] = tx.wire_lost;
    if (missed) dropped["port_missed"] = missed;
    if (failed) dropped["send_failed"] = failed;
    if (tx.wire_full) dropped["emulated_queue_full"] = tx.wire_full;
    const uint64_t sent = tx.packets + tx.wire_lost + tx.wire_full - tx.wire_duplicated + held;
    const uint64_t gone = received + tx.wire_lost + tx.wire_full + missed + failed + in_wire + held;
    const auto missing = static_cast<int64_t>(sent + tx.wire_duplicated - gone);
    const bool lost = sender.lost_as && missing > 0;
    if (lost) dropped[sender.lost_as] = missing;
    return {{"source", side_names[static_cast<int>(f.endpoints[source].plan->side)]},
            {"sent", sent},
            {"duplicated", tx.wire_duplicated},
            {"received", received},
            {"dropped", dropped},
            {"in_wire", in_wire + held},
            {"missing", lost ? 0 : missing}};
}

json message_ledger(run_state &f, uint32_t workload) {
    stage_counters t{};
    uint64_t in_flight = 0;
    for_each_client_stage(f, workload, [&](stage &, size_t w, size_t i) { t += f.totals[w][i]; });
    for_each_application(f, [&](application &a) {
        if (a.inflight && a.workload == workload) in_flight += inflight_count(*a.inflight);
    });
    return {
        {"workload", workload},
        {"offered", t.offered},
        {"unsent", t.offered - t.sent},
        {"sent", t.sent},
        {"responses", t.responses},
        {"lost", t.lost},
        {"late", t.late},
        {"duplicates", t.duplicates},
        {"negative_latency", t.negative_latency},
        {"in_flight", in_flight},
        {"missing", static_cast<int64_t>(t.sent) - static_cast<int64_t>(t.responses + t.lost + in_flight)}};
}

uint64_t peak_rss_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

// What each port itself has counted that counts at all; null where none does.
json xstats_json(const run_state &f) {
    json sides = json();
    for (size_t i = 0; i < f.ports.size(); i++) {
        const port &p = f.ports[i];
        if (p.operations->statistics == nullptr) continue;
        json &counters = sides[side_names[static_cast<int>(f.plan.endpoints[i].side)]] = json::object();
        for (const auto &[name, value] : p.operations->statistics(p)) counters[name] = value;
    }
    return sides;
}

json allocations_json(const run_state &f) {
    if (!allocations_watched()) return json();
    uint64_t sum = 0;
    for (const worker &w : f.workers) sum += w.allocations.load(std::memory_order_relaxed);
    return sum;
}

json trace_json(run_state &f) {
    if (!f.trace) return json();
    const traced t = f.trace->close();
    return {{"events", t.events}, {"missed", t.missed}, {"fault", t.fault ? json(*t.fault) : json()}};
}

// How late the frames of a capture entered that is played at its own times; null where none is.
json pacing_json(run_state &f) {
    auto late = std::make_unique<latency_histogram>();
    late->clear();
    const pacer *first = nullptr;
    for_each_dispatcher(f, [&](const dispatcher &d) {
        if (!d.nic.paced) return;
        if (first == nullptr) first = &d.nic.paced->times;
        histogram_merge(*late, d.nic.paced->late);
    });
    if (first == nullptr) return json();
    return {{"start_ns", f.lines.at_ns(f.signals.sending_since)},
            {"round_ns", first->round_ns},
            {"late", histogram_json(*late)}};
}

// Test mode: the latencies as measured, for an outside check of the histograms.
void write_raw_latency(const run_state &f) {
    if (!f.plan.raw_latency) return;
    std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(f.plan.raw_latency->path.c_str(), "wbx"),
                                                          std::fclose);
    if (!file)
        throw refusal(f.plan.raw_latency->path + " cannot be written", "use a path that does not exist yet");
    for (const endpoint &e : f.endpoints)
        for (const auto &a : e.applications)
            if (a->receiving && std::fwrite(a->receiving->raw.data(), 8, a->receiving->raw.size(),
                                            file.get()) != a->receiving->raw.size())
                throw refusal(f.plan.raw_latency->path + " could not be written completely",
                              "free space on the disk");
}

const char *reason_of(const run_end &end) {
    constexpr const char *names[] = {"duration",    "messages",  "stopped",
                                     "parent lost", "peer lost", "peer stopped"};
    return end.reason == end_reason::by_part ? end.part_reason : names[static_cast<int>(end.reason)];
}

}  // namespace

void write_result(run_state &f, const run_end &end) {
    f.lines.phase("closing the ledgers");
    const bool pair = is_pair(f.ports);
    json messages = json::array(), packets = json::array();
    for (uint32_t i = 0; i < f.plan.workloads.size(); i++)
        if (f.plan.workloads[i].load) messages.push_back(message_ledger(f, i));

    const std::vector<uint64_t> free_at_stop = free_counts(f);
    const json xstats = xstats_json(f);
    holders owners(f);
    std::vector<uint64_t> held;
    for (const endpoint &e : f.endpoints) held.push_back(held_by_emulation(e));
    owners.empty("rings", [&] { free_links(f); });
    owners.empty("hand-overs", [&] { free_handovers(f); });
    owners.empty("emulated wire", [&] { free_emulated(f); });
    owners.empty("finished messages", [&] { free_outboxes(f); });
    owners.empty("requests", [&] { free_requests(f); });
    for (const part *p : all_parts())
        if (p->give_back) owners.empty(p->name, [&] { p->give_back(f); });
    for (const part *p : all_parts())
        for (size_t e = 0; p->never_ended && e < f.endpoints.size(); e++)
            owners.keeps(std::string(p->name) + " that never ended", e, p->never_ended(f, f.pools[e]));
    json of_parts = json::object();
    call_parts(&part::add_result, f, of_parts);
    owners.empty("wire", [&] {
        for (size_t e = 0; pair && e < 2; e++)
            packets.push_back(packet_ledger(f, e, held[e], drain_wire(f.ports, e)));
    });
    owners.empty("driver", [&] { close_ports(f.ports); });

    json recorded_frames, received_frames, missed_frames;
    if (f.record) {
        const recorded r = recorder_close(f.record);
        f.record = nullptr;
        recorded_frames = r.sent;
        if (r.received) received_frames = *r.received;
        missed_frames = r.missed;
    }
    write_raw_latency(f);
    json line = {
        {"type", "result"},
        {"at_ns", f.lines.now_ns()},
        {"reason", reason_of(end)},
        {"measured_ns", end.measured_ns},
        {"clock_error_ppm", clock_error_ppm(f.clock, f.clock_at_start)},
        {"mbufs", owners.ledger(free_at_stop)},
        {"packets", packets},
        {"messages", messages},
        {"counters", counters_of_run(f.counters)},
        {"xstats", xstats},
        {"pacing", pacing_json(f)},
        {"worker_allocations", allocations_json(f)},
        {"recorded", recorded_frames},
        {"recorded_received", received_frames},
        {"record_missed", missed_frames},
        {"trace", trace_json(f)},
        {"peak_rss_bytes", peak_rss_bytes()},
        {"hugepage_bytes", f.plan.eal.memory == memory_mode::hugepages ? rte_eal_get_physmem_size() : 0}};
    line.update(of_parts);
    f.lines.write(line);
}

}  // namespace wt
