#include "wires/ports.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/refusal.h"
#include "wires/device.h"
#include "wires/planned.h"
#include "wires/registry.h"

namespace wt {

namespace {

constexpr timespec poll_pause = {0, 10'000'000};

void note_what_it_sends(port &made, const endpoint_plan &e) {
    const char *side = side_names[static_cast<int>(e.side)];
    char words[160];
    if (!e.port.udp_checksum)
        made.notes.push_back(std::string("UDP checksums of what the ") + side +
                             " sends are 0: none (RFC 768)");
    if (e.port.faults) {
        const fault_plan &f = *e.port.faults;
        std::snprintf(
            words, sizeof words,
            "emulated on what the %s sends: loss %g, duplication %g, reordering %g (by up to %u packets)",
            side, f.loss, f.duplicate, f.reorder, f.reorder_depth);
        made.notes.push_back(words);
    }
    if (e.port.link) {
        const link_plan &l = *e.port.link;
        std::snprintf(words, sizeof words,
                      "emulated on what the %s sends: a link of %g bit/s, %llu ns, a queue of %u packets",
                      side, l.bits_per_s.value_or(0), static_cast<unsigned long long>(l.delay_ns), l.queue);
        made.notes.push_back(words);
    }
}

// What the wire's limits and a plan come to, before anything is opened.
void check_limits(const wire_end &end) {
    const wt_wire &about = end.kind.about;
    const std::string who = std::string(about.name) + " wire: ";
    if (end.plan.port.queues > about.most_queues)
        throw refusal(who + "a port has at most " + std::to_string(about.most_queues) + " queues, not " +
                          std::to_string(end.plan.port.queues),
                      "use fewer dispatchers: each has one queue");
    if (about.most_mtu && end.plan.mtu > about.most_mtu)
        throw refusal(who + "an MTU of " + std::to_string(end.plan.mtu) + " is " + about.mtu_why,
                      "use at most " + std::to_string(about.most_mtu));
}

std::vector<wire_end> ends_of(const plan &p, const std::vector<rte_mempool *> &pools) {
    std::vector<wire_end> ends;
    for (size_t i = 0; i < p.endpoints.size(); i++) {
        const endpoint_plan &e = p.endpoints[i];
        const wire &kind = wire_of(e);
        ends.push_back({kind,
                        e,
                        i,
                        pools[i],
                        {std::string(kind.about.name) + " wire", kind.about, e.port.options},
                        p.hash});
        check_limits(ends.back());
    }
    return ends;
}

// A transport that is no ethdev has made all of its port in `open`.
void start(port &made, const wire_end &end) {
    const bool is_device = made.queue == nullptr;
    made.queues = end.plan.port.queues;
    if (is_device) configure_device(made, end);
    note_what_it_sends(made, end.plan);
    if (end.kind.start)
        end.kind.start(made, end);
    else if (is_device)
        start_device(made);
}

}  // namespace

std::vector<port> open_ports(const plan &p, const std::vector<rte_mempool *> &pools) {
    check_planned_wires(p);
    const std::vector<wire_end> ends = ends_of(p, pools);
    struct closing : std::vector<port> {
        ~closing() { close_ports(*this); }
    } made;
    for (size_t i = 0; i < ends.size();) {
        const wire &kind = ends[i].kind;
        const size_t count = has(kind, WT_WIRE_TOGETHER) ? ends.size() : 1;
        for (port &one : kind.open(std::span(ends).subspan(i, count))) {
            one.wire = &kind;
            one.operations = kind.operations;
            made.push_back(std::move(one));
        }
        i += count;
    }
    for (size_t i = 0; i < made.size(); i++) start(made[i], ends[i]);
    return std::exchange(static_cast<std::vector<port> &>(made), {});
}

bool wait_for_links(std::span<const port> ports, bool (*keep_waiting)(void *), void *argument) {
    const auto is_up = [](const port &p) { return p.operations->link(p) == link_state::up; };
    for (uint32_t looks = 1; !std::ranges::all_of(ports, is_up); looks++) {
        if (!keep_waiting(argument)) return false;
        // the two ends of a wire may wait for each other
        for (const port &p : ports)
            if (p.wire->await_link && !is_up(p)) p.wire->await_link(p, looks);
        nanosleep(&poll_pause, nullptr);
    }
    return true;
}

bool is_pair(const std::vector<port> &ports) {
    return ports.size() == 2 && ports[0].operations->drain != nullptr && !ports[0].one_sided;
}

uint32_t drain_wire(const std::vector<port> &ports, size_t source) {
    return is_pair(ports) ? ports[0].operations->drain(ports[source], ports[1 - source]) : 0;
}

void close_ports(std::vector<port> &ports) {
    for (size_t i = 0; i < ports.size(); i++) drain_wire(ports, i);
    for (port &p : ports) p.operations->close(p);
    ports.clear();
}

}  // namespace wt
